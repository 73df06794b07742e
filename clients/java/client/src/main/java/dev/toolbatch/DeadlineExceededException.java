package dev.toolbatch;

/** The caller's deadline passed first. A batch that was accepted goes on. */
public final class DeadlineExceededException extends ToolbatchException {
  private static final long serialVersionUID = 1L;

  DeadlineExceededException(String message, Throwable cause) {
    super(message, cause);
  }
}
