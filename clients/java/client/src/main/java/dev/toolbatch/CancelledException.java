package dev.toolbatch;

/**
 * The thread that waited was interrupted, and its interrupt flag is set again; or the {@link
 * io.grpc.Context} that the request was made in was cancelled. A batch that was accepted goes on.
 */
public final class CancelledException extends ToolbatchException {
  private static final long serialVersionUID = 1L;

  CancelledException(String message, Throwable cause) {
    super(message, cause);
  }
}
