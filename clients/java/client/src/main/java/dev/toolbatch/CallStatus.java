package dev.toolbatch;

/** Where a call stands. */
public enum CallStatus {
  /** Not set. */
  UNSPECIFIED,
  /** The tool did it. */
  COMPLETED,
  /** It failed; where its outcome is unknown it may have taken effect all the same. */
  FAILED,
  /** Its key was completed before in this task, so it did not run. */
  SKIPPED,
  /** The batch stopped before it. */
  NOT_RUN,
  /** It ran and waits for a review; its key counts as completed. */
  AWAITING,
  /** It runs; only on a step. */
  RUNNING,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final CallStatus[] VALUES = values();

  static CallStatus of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
  }
}
