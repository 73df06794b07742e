package dev.toolbatch;

/** What becomes of a call whose outcome an interruption left unknown. */
public enum InDoubtPolicy {
  /** Not set. */
  UNSPECIFIED,
  /** It runs again, at least once, marked as in doubt towards the backend. */
  RERUN,
  /** The backend is asked; where it cannot tell, the call fails with an unknown outcome. */
  LOOKUP,
  /** It is not run again: it fails with an unknown outcome, so it ran at most once. */
  FAIL,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final InDoubtPolicy[] VALUES = values();

  static InDoubtPolicy of(int number) {
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
