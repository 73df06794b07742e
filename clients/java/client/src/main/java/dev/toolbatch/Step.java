package dev.toolbatch;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;

/**
 * The record of one call, of a direct step or of a batch.
 *
 * @param proto the contract's message, with what this class does not show
 */
public record Step(dev.toolbatch.v1.Step proto) {
  /**
   * The step's identity.
   *
   * @return its id
   */
  public String stepId() {
    return proto.getStepId();
  }

  /**
   * The tool's name.
   *
   * @return as it was called
   */
  public String tool() {
    return proto.getTool();
  }

  /**
   * Where it stands.
   *
   * @return {@link CallStatus#UNKNOWN} where this client does not know it
   */
  public CallStatus status() {
    return CallStatus.of(proto.getStatusValue());
  }

  /**
   * How often it was sent.
   *
   * @return retries and reruns included
   */
  public int attempts() {
    return proto.getAttempts();
  }

  /**
   * The arguments' text.
   *
   * @return JSON byte for byte
   */
  public String argsJson() {
    return proto.getArgsJson();
  }

  /**
   * The result's text.
   *
   * @return JSON byte for byte; nothing where there is none, or where it is over 1 MiB: {@link
   *     ToolbatchClient#stepResult(String)} reads it
   */
  public Optional<String> resultJson() {
    return Optional.of(proto.getResultJson()).filter(text -> !text.isEmpty());
  }

  /**
   * The result's value, read anew each time.
   *
   * @return nothing where {@link #resultJson()} gives nothing
   * @throws IllegalArgumentException where it is nested deeper than 1000 levels, or has a number of
   *     more than 100,000 digits
   */
  public Optional<JsonNode> value() {
    return resultJson().map(Json::parse);
  }

  /**
   * The length of the result's text.
   *
   * @return in bytes, whether it is left out or not; 0 where there is no result
   */
  public long resultBytes() {
    return proto.getResultBytes();
  }

  /**
   * Why it failed.
   *
   * @return nothing where it did not
   */
  public Optional<CallError> error() {
    return proto.hasError() ? Optional.of(new CallError(proto.getError())) : Optional.empty();
  }
}
