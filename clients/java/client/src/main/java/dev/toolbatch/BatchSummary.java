package dev.toolbatch;

import java.util.List;

/**
 * How a batch went, or goes. The counts of a finished batch add up to {@link #total()}.
 *
 * @param proto the contract's message, with the numbers of values that this client does not know
 */
public record BatchSummary(dev.toolbatch.v1.BatchSummary proto) {
  /**
   * Running, or which end it was.
   *
   * @return {@link BatchStatus#UNKNOWN} where this client does not know it
   */
  public BatchStatus status() {
    return BatchStatus.of(proto.getStatusValue());
  }

  /**
   * How many calls the batch has.
   *
   * @return 1 to 200
   */
  public int total() {
    return proto.getTotal();
  }

  /**
   * How many calls are completed.
   *
   * @return from 0
   */
  public int succeeded() {
    return proto.getSucceeded();
  }

  /**
   * How many calls failed, those with an unknown outcome included.
   *
   * @return from 0
   */
  public int failed() {
    return proto.getFailed();
  }

  /**
   * How many calls had a key that was done before.
   *
   * @return from 0
   */
  public int skipped() {
    return proto.getSkipped();
  }

  /**
   * How many calls wait for a review.
   *
   * @return from 0
   */
  public int awaiting() {
    return proto.getAwaiting();
  }

  /**
   * How many calls were left out.
   *
   * @return from 0
   */
  public int notRun() {
    return proto.getNotRun();
  }

  /**
   * Why calls were left out.
   *
   * @return {@link StopReason#UNSPECIFIED} where none was
   */
  public StopReason stopReason() {
    return StopReason.of(proto.getStopReasonValue());
  }

  /**
   * Every call's result; while the batch runs those that are known.
   *
   * @return by index, in whatever order they finished
   */
  public List<CallResult> results() {
    return proto.getResultsList().stream().map(CallResult::new).toList();
  }
}
