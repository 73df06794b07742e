package dev.toolbatch;

/** How the calls of a batch run: one after another, or side by side. */
public enum BatchMode {
  /** Not set. */
  UNSPECIFIED,
  /** One call at a time, in the order given. */
  SEQUENTIAL,
  /** Several at once, started in the order given as far as lanes allow. */
  PARALLEL,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final BatchMode[] VALUES = values();

  static BatchMode of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
  }

  int number() {
    if (this == UNKNOWN) {
      throw new IllegalArgumentException(
          "UNKNOWN cannot be asked for: it stands for values that this client does not know");
    }
    return ordinal();
  }
}
