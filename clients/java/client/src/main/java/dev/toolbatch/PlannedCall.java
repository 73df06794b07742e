package dev.toolbatch;

import java.util.Optional;

/**
 * What one call would do.
 *
 * @param proto the contract's message
 */
public record PlannedCall(dev.toolbatch.v1.PlannedCall proto) {
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
   * What the name resolved to.
   *
   * @return the name that the backend gave the tool
   */
  public String baseTool() {
    return proto.getBaseTool();
  }

  /**
   * The backend that serves it.
   *
   * @return its name
   */
  public String backend() {
    return proto.getBackend();
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
   * The call's lane: calls that share one run one at a time, in order.
   *
   * @return empty where it has none
   */
  public String lane() {
    return proto.getLane();
  }

  /**
   * The step that did it before, where its key is completed.
   *
   * @return empty where it would run
   */
  public String skippedStepId() {
    return proto.getSkippedStepId();
  }

  /**
   * Why the call would fail before it reaches a tool.
   *
   * @return nothing where it would not
   */
  public Optional<CallError> error() {
    return proto.hasError() ? Optional.of(new CallError(proto.getError())) : Optional.empty();
  }
}
