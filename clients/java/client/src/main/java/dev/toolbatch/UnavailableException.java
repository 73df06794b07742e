package dev.toolbatch;

/**
 * The server could not be reached, or was lost and did not come back in time. A batch may be
 * running all the same: {@link ToolbatchClient#watch(String, long) watch} it by {@link #batchId()}
 * from {@link #lastSequence()} on, or run the same {@link Batch} again, which attaches to it.
 */
public final class UnavailableException extends ToolbatchException {
  private static final long serialVersionUID = 1L;

  /** The batch that was followed. */
  private final String batchId;

  /** How far it was followed. */
  private final long lastSequence;

  UnavailableException(String message, String batchId, long lastSequence, Throwable cause) {
    super(message, cause);
    this.batchId = batchId;
    this.lastSequence = lastSequence;
  }

  /**
   * The batch that was followed.
   *
   * @return its id; empty where the request was about none
   */
  public String batchId() {
    return batchId;
  }

  /**
   * How far the batch was followed.
   *
   * @return the sequence of the last event that was seen; 0 where none was
   */
  public long lastSequence() {
    return lastSequence;
  }
}
