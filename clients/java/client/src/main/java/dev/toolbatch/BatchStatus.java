package dev.toolbatch;

/** How a batch went. */
public enum BatchStatus {
  /** Not set. */
  UNSPECIFIED,
  /** Not over yet. */
  RUNNING,
  /** Every call is completed or skipped. */
  COMPLETED,
  /** Neither completed nor failed: some calls did it. */
  PARTIAL,
  /** No call is completed, skipped or awaiting. */
  FAILED,
  /**
   * A value that this version of the client does not know; the message that it came in keeps its
   * number.
   */
  UNKNOWN;

  private static final BatchStatus[] VALUES = values();

  static BatchStatus of(int number) {
    return number >= 0 && number < UNKNOWN.ordinal() ? VALUES[number] : UNKNOWN;
  }
}
