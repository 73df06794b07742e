package dev.toolbatch;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.Optional;

/**
 * What became of one call.
 *
 * @param proto the contract's message, with the numbers of values that this client does not know
 */
public record CallResult(dev.toolbatch.v1.CallResult proto) {
  /**
   * The call's place in the list.
   *
   * @return from 0
   */
  public int index() {
    return proto.getIndex();
  }

  /**
   * The tool's name.
   *
   * @return as the request has it
   */
  public String tool() {
    return proto.getTool();
  }

  /**
   * The call's key.
   *
   * @return empty where it has none
   */
  public String key() {
    return proto.getKey();
  }

  /**
   * Which end it was.
   *
   * @return {@link CallStatus#UNKNOWN} where this client does not know it
   */
  public CallStatus status() {
    return CallStatus.of(proto.getStatusValue());
  }

  /**
   * The step that holds the full record; for a skipped call the one that ran it first.
   *
   * @return empty for a call that was not run
   */
  public String stepId() {
    return proto.getStepId();
  }

  /**
   * How long it took.
   *
   * @return from the first attempt to the end, backoff included
   */
  public Duration duration() {
    return Times.of(proto.getDuration());
  }

  /**
   * The result's text.
   *
   * @return JSON byte for byte; nothing where there is none, or where it is {@link #resultOmitted()
   *     omitted}
   */
  public Optional<String> resultJson() {
    return Optional.of(proto.getResultJson()).filter(text -> !text.isEmpty());
  }

  /**
   * The result's value, read anew each time.
   *
   * @return nothing where there is no result, or where it is {@link #resultOmitted() omitted}
   * @throws IllegalArgumentException where it is nested deeper than 1000 levels, or has a number of
   *     more than 100,000 digits
   */
  public Optional<JsonNode> value() {
    return resultJson().map(Json::parse);
  }

  /**
   * The result as a Java type.
   *
   * @param <T> the type
   * @param type a record, a collection, or whatever else Jackson makes from JSON
   * @return nothing where there is no result, or where it is {@link #resultOmitted() omitted}
   * @throws IllegalArgumentException where the result does not fit the type
   */
  public <T> Optional<T> value(Class<T> type) {
    return resultJson().map(text -> Json.read(text, type));
  }

  /**
   * Whether there is a result that is not here, as it is large or was not asked for: {@link
   * ToolbatchClient#stepResult(String)} reads it.
   *
   * @return true where it is on the step alone
   */
  public boolean resultOmitted() {
    return proto.getResultOmitted();
  }

  /**
   * Why it failed.
   *
   * @return nothing where it did not
   */
  public Optional<CallError> error() {
    return proto.hasError() ? Optional.of(new CallError(proto.getError())) : Optional.empty();
  }

  /**
   * The review that the call waits for.
   *
   * @return empty where it waits for none
   */
  public String awaitId() {
    return proto.getAwaitId();
  }

  /**
   * How often the call was sent.
   *
   * @return retries and reruns included; 0 where nothing was sent
   */
  public int attempts() {
    return proto.getAttempts();
  }

  /**
   * Whether a skipped call's tool or args differ from those that its key ran with.
   *
   * @return true where they do; no result is given then
   */
  public boolean argsChanged() {
    return proto.getArgsChanged();
  }
}
