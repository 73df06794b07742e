package dev.toolbatch;

/**
 * What keeps a request from its answer. What becomes of a call of a batch is never an exception: it
 * stands in its result.
 */
public abstract class ToolbatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ToolbatchException(String message, Throwable cause) {
    super(message, cause);
  }
}
