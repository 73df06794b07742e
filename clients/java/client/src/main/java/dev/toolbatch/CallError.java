package dev.toolbatch;

/**
 * Why a call failed.
 *
 * @param proto the contract's message, with what this class does not show
 */
public record CallError(dev.toolbatch.v1.CallError proto) {
  /**
   * The kind of failure.
   *
   * @return {@link CallErrorReason#UNKNOWN} where this client does not know it
   */
  public CallErrorReason reason() {
    return CallErrorReason.of(proto.getReasonValue());
  }

  /**
   * What people and models read.
   *
   * @return at most 2 KiB; on a step up to 64 KiB
   */
  public String message() {
    return proto.getMessage();
  }

  /**
   * Whether the call may have taken effect: its answer never arrived, or could not be used.
   *
   * @return true where that is not known
   */
  public boolean outcomeUnknown() {
    return proto.getOutcomeUnknown();
  }

  /**
   * Whether a repeat can succeed.
   *
   * @return true where it can, and this attempt changed nothing
   */
  public boolean retryable() {
    return proto.getRetryable();
  }

  /**
   * The tool's own code.
   *
   * @return empty where it gave none
   */
  public String code() {
    return proto.getCode();
  }
}
