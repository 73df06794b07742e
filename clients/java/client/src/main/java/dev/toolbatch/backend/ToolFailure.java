package dev.toolbatch.backend;

/**
 * A definite failure, thrown by a tool's function: the tool knows that it did not do what it was
 * asked. Any other exception says nothing certain, and its call counts as one whose outcome is
 * unknown.
 */
public final class ToolFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The tool's own code. */
  private final String code;

  /** Whether a repeat can succeed. */
  private final boolean retryable;

  /**
   * A failure without a code, not to be repeated.
   *
   * @param message for people and models; kept up to 64 KiB
   */
  public ToolFailure(String message) {
    this(message, "", false);
  }

  /**
   * A failure.
   *
   * @param message for people and models; kept up to 64 KiB
   * @param code the tool's own, for programs; empty for none
   * @param retryable whether a repeat can succeed, and this attempt changed nothing
   */
  public ToolFailure(String message, String code, boolean retryable) {
    super(message == null ? "" : message);
    this.code = code == null ? "" : code;
    this.retryable = retryable;
  }

  /**
   * The tool's own code.
   *
   * @return empty where there is none
   */
  public String code() {
    return code;
  }

  /**
   * Whether a repeat can succeed.
   *
   * @return true where it can, and this attempt changed nothing
   */
  public boolean retryable() {
    return retryable;
  }

  dev.toolbatch.v1.ToolFailure toProto() {
    return dev.toolbatch.v1.ToolFailure.newBuilder()
        .setMessage(getMessage())
        .setCode(code)
        .setRetryable(retryable)
        .build();
  }
}
