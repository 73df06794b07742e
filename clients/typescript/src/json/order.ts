const ORDER = Symbol("toolbatch.memberOrder");

/** Whether JavaScript moves a member of this name before all others: a whole number from 0 to 2^32 - 2, as it writes it. */
function isIndex(name: string): boolean {
  return /^(?:0|[1-9][0-9]{0,9})$/.test(name) && Number(name) < 0xffff_ffff;
}

/** Notes the order of an object's members on it, out of sight, where JavaScript would lose it. */
export function rememberOrder(object: object, names: readonly string[]): void {
  if (names.some(isIndex)) Object.defineProperty(object, ORDER, { value: names });
}

/** The names of an object's members: those that it was parsed with in their order, then those that it got since. */
export function namesInOrder(object: object): readonly string[] {
  const names = Object.keys(object);
  const order = (object as { [ORDER]?: readonly string[] })[ORDER];
  if (order === undefined) return names;
  const here = new Set(names);
  const kept = order.filter((name) => here.delete(name));
  return [...kept, ...here];
}
