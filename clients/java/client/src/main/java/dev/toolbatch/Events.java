package dev.toolbatch;

import java.time.Instant;
import java.util.List;

/** From the contract's events to those of this package. */
final class Events {
  private Events() {}

  /** Gives null for a kind that this version does not know. */
  static BatchEvent of(dev.toolbatch.v1.BatchEvent event) {
    String batchId = event.getBatchId();
    long sequence = event.getSequence();
    Instant time = Times.of(event.getTime());
    return switch (event.getEventCase()) {
      case BATCH_PLANNED -> {
        List<PlannedCall> calls =
            event.getBatchPlanned().getCallsList().stream().map(PlannedCall::new).toList();
        yield new BatchEvent.BatchPlanned(batchId, sequence, time, calls);
      }
      case BATCH_STARTED -> {
        var started = event.getBatchStarted();
        BatchOptions options = new BatchOptions(started.getOptions());
        yield new BatchEvent.BatchStarted(
            batchId,
            sequence,
            time,
            started.getTaskId(),
            started.getAgentId(),
            started.getTotal(),
            options);
      }
      case CALL_STARTED -> {
        var started = event.getCallStarted();
        yield new BatchEvent.CallStarted(
            batchId,
            sequence,
            time,
            started.getIndex(),
            started.getTool(),
            started.getKey(),
            started.getStepId(),
            started.getAttempt());
      }
      case CALL_RETRYING -> {
        var retrying = event.getCallRetrying();
        yield new BatchEvent.CallRetrying(
            batchId,
            sequence,
            time,
            retrying.getIndex(),
            retrying.getStepId(),
            retrying.getAttempt(),
            new CallError(retrying.getError()),
            Times.of(retrying.getRetryTime()));
      }
      case CALL_PROGRESS -> {
        var told = event.getCallProgress();
        yield new BatchEvent.CallProgress(
            batchId,
            sequence,
            time,
            told.getIndex(),
            told.getStepId(),
            told.getProgress(),
            told.getTotal(),
            told.getMessage());
      }
      case CALL_FINISHED -> {
        CallResult result = new CallResult(event.getCallFinished().getResult());
        yield new BatchEvent.CallFinished(batchId, sequence, time, result);
      }
      case BATCH_RESUMED -> {
        List<Integer> inDoubt = List.copyOf(event.getBatchResumed().getInDoubtList());
        yield new BatchEvent.BatchResumed(batchId, sequence, time, inDoubt);
      }
      case BATCH_FINISHED -> {
        BatchSummary summary = new BatchSummary(event.getBatchFinished().getSummary());
        yield new BatchEvent.BatchFinished(batchId, sequence, time, summary);
      }
      case EVENT_NOT_SET -> null;
    };
  }
}
