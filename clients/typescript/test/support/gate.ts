/** Something that a test waits for, or has others wait for. */
export class Gate<T = void> {
  readonly passed: Promise<T>;
  open: (value: T) => void = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
