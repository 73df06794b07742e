package dev.toolbatch;

import java.time.Duration;
import java.util.Optional;

/**
 * The options that a batch runs with, its defaults filled in by the server.
 *
 * @param proto the contract's message, with what this class does not show
 */
public record BatchOptions(dev.toolbatch.v1.BatchOptions proto) {
  /**
   * How calls run.
   *
   * @return one after another, or side by side
   */
  public BatchMode mode() {
    return BatchMode.of(proto.getModeValue());
  }

  /**
   * How many calls run at once.
   *
   * @return 1 to 16
   */
  public int maxConcurrency() {
    return proto.getMaxConcurrency();
  }

  /**
   * What makes lanes.
   *
   * @return the path into each call's args; empty where there are no lanes
   */
  public String serializeOn() {
    return proto.getSerializeOn();
  }

  /**
   * Whether no call starts after the first failure.
   *
   * @return as it is in force
   */
  public boolean stopOnError() {
    return proto.getStopOnError();
  }

  /**
   * Whether small results come with the events.
   *
   * @return as it is in force
   */
  public boolean includeResults() {
    return proto.getIncludeResults();
  }

  /**
   * The bound on one attempt.
   *
   * @return nothing where it is the tool's or the server's
   */
  public Optional<Duration> callTimeout() {
    return proto.hasCallTimeout()
        ? Optional.of(Times.of(proto.getCallTimeout()))
        : Optional.empty();
  }

  /**
   * What becomes of a call whose outcome an interruption left unknown.
   *
   * @return as it is in force
   */
  public InDoubtPolicy inDoubt() {
    return InDoubtPolicy.of(proto.getInDoubtValue());
  }
}
