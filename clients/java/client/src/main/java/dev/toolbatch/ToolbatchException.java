package dev.toolbatch;

/**
 * What keeps a request from its answer. What becomes of a call of a batch is never an exception: it
 * stands in its result.
 */
public abstract sealed class ToolbatchException extends RuntimeException
    permits CancelledException, DeadlineExceededException, RefusedException, UnavailableException {
  private static final long serialVersionUID = 1L;

  ToolbatchException(String message, Throwable cause) {
    super(message, cause);
  }
}
