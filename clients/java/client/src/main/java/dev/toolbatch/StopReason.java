package dev.toolbatch;

/** Why a batch started no further calls before its list's end. */
public enum StopReason {
  /** Not set. */
  UNSPECIFIED,
  /** A call failed, and the batch stops on errors. */
  CALL_FAILED,
  /** A call waits for a review. */
  AWAITING_REVIEW,
  /** The batch was cancelled. */
  CANCELLED,
  /** The task was ended. */
  TASK_ENDED,
  /** The server crashed three times in a row while the batch ran, and does not take it up again. */
  PARKED,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final StopReason[] VALUES = values();

  static StopReason of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
  }
}
