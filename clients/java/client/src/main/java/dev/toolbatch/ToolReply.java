package dev.toolbatch;

import dev.toolbatch.v1.CallToolResponse;
import java.util.Optional;

/**
 * What came of a tool that was called directly.
 *
 * @param proto the contract's message, with what this class does not show
 */
public record ToolReply(CallToolResponse proto) {
  /**
   * What went wrong.
   *
   * @param message for people and models, up to 64 KiB
   * @param code the tool's own, or the name of the rule that refused the call; empty where there is
   *     none
   * @param retryable whether a repeat can succeed, as this attempt changed nothing
   * @param outcomeUnknown whether the call may have taken effect all the same
   */
  public record Failure(String message, String code, boolean retryable, boolean outcomeUnknown) {}

  /**
   * The result's text.
   *
   * @return JSON byte for byte; nothing where the call failed, waits for a review, or where its
   *     result is over 3 MiB: {@link ToolbatchClient#stepResult(String)} reads it
   */
  public Optional<String> resultJson() {
    boolean here =
        proto.getOutcomeCase() == CallToolResponse.OutcomeCase.RESULT_JSON
            && !proto.getResultOmitted();
    return here ? Optional.of(orNull(proto.getResultJson())) : Optional.empty();
  }

  /**
   * Whether the result is on the step alone, as it is over 3 MiB.
   *
   * @return true where it is
   */
  public boolean resultOmitted() {
    return proto.getResultOmitted();
  }

  /**
   * Why it failed.
   *
   * @return nothing where it did not
   */
  public Optional<Failure> failure() {
    if (!proto.hasFailure()) {
      return Optional.empty();
    }
    var failure = proto.getFailure();
    return Optional.of(
        new Failure(
            failure.getMessage(),
            failure.getCode(),
            failure.getRetryable(),
            proto.getOutcomeUnknown()));
  }

  /**
   * The review that it waits for.
   *
   * @return empty where it waits for none
   */
  public String awaitId() {
    return proto.getAwaiting().getAwaitId();
  }

  /**
   * What a tool that waits for a review has so far.
   *
   * @return JSON byte for byte; nothing where it does not wait
   */
  public Optional<String> awaitingJson() {
    return proto.hasAwaiting()
        ? Optional.of(orNull(proto.getAwaiting().getResultJson()))
        : Optional.empty();
  }

  /**
   * The step that records the call.
   *
   * @return its id; empty where nothing was recorded
   */
  public String stepId() {
    return proto.getStepId();
  }

  /**
   * The variable that holds the result.
   *
   * @return such as {@code VAR_2}; empty where there is none
   */
  public String variable() {
    return proto.getVariable();
  }

  /**
   * Whether the key was completed before, and this is what came of it then.
   *
   * @return true where nothing ran
   */
  public boolean skipped() {
    return proto.getSkipped();
  }

  private static String orNull(String json) {
    return json.isEmpty() ? "null" : json;
  }
}
