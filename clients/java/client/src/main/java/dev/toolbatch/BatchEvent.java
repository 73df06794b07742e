package dev.toolbatch;

import java.time.Instant;
import java.util.List;

/**
 * What happened in a batch. Events of kinds that this version does not know are not given out, so a
 * program has to expect any of these and no fixed number of them.
 */
public sealed interface BatchEvent {
  /**
   * The batch that it belongs to.
   *
   * @return its id
   */
  String batchId();

  /**
   * The event's place in the batch's log.
   *
   * @return from 1, without gaps; 0 on {@link CallProgress} and {@link BatchPlanned}, which are no
   *     part of the log
   */
  long sequence();

  /**
   * When it was recorded.
   *
   * @return by the server's clock
   */
  Instant time();

  /**
   * The answer to {@link Batch.Builder#validateOnly()}, and the only event then.
   *
   * @param batchId the batch that it belongs to
   * @param sequence always 0
   * @param time when it was made
   * @param calls one entry for each call, by index
   */
  record BatchPlanned(String batchId, long sequence, Instant time, List<PlannedCall> calls)
      implements BatchEvent {}

  /**
   * The batch was accepted, and runs to its end whatever becomes of the client.
   *
   * @param batchId the batch that it belongs to
   * @param sequence always 1
   * @param time when it was recorded
   * @param taskId the task that the batch belongs to
   * @param agentId the agent that it acts for
   * @param total how many calls it has
   * @param options the options in force
   */
  record BatchStarted(
      String batchId,
      long sequence,
      Instant time,
      String taskId,
      String agentId,
      int total,
      BatchOptions options)
      implements BatchEvent {}

  /**
   * An attempt of a call is about to leave.
   *
   * @param batchId the batch that it belongs to
   * @param sequence its place in the log
   * @param time when it was recorded
   * @param index the call's place in the list, from 0
   * @param tool as the request names it
   * @param key the call's key; empty where it has none
   * @param stepId the step that records the call
   * @param attempt 1 for the first; retries and reruns count on
   */
  record CallStarted(
      String batchId,
      long sequence,
      Instant time,
      int index,
      String tool,
      String key,
      String stepId,
      int attempt)
      implements BatchEvent {}

  /**
   * An attempt failed and will be repeated.
   *
   * @param batchId the batch that it belongs to
   * @param sequence its place in the log
   * @param time when it was recorded
   * @param index the call's place in the list, from 0
   * @param stepId the step that records the call
   * @param attempt the one that failed
   * @param error how it failed
   * @param retryTime when the next attempt is due
   */
  record CallRetrying(
      String batchId,
      long sequence,
      Instant time,
      int index,
      String stepId,
      int attempt,
      CallError error,
      Instant retryTime)
      implements BatchEvent {}

  /**
   * A running call tells how far it is. Live only: some may be left out.
   *
   * @param batchId the batch that it belongs to
   * @param sequence always 0
   * @param time when it was told
   * @param index the call's place in the list, from 0
   * @param stepId the step that records the call
   * @param progress how much is done, in the tool's own unit
   * @param total how much there is to do; 0 where the tool does not know it
   * @param message the tool's words for people
   */
  record CallProgress(
      String batchId,
      long sequence,
      Instant time,
      int index,
      String stepId,
      double progress,
      double total,
      String message)
      implements BatchEvent {}

  /**
   * A call has come to its end: it is durable, and never runs again in this batch.
   *
   * @param batchId the batch that it belongs to
   * @param sequence its place in the log
   * @param time when it was recorded
   * @param result which end it was
   */
  record CallFinished(String batchId, long sequence, Instant time, CallResult result)
      implements BatchEvent {}

  /**
   * A server that restarted took the batch up again.
   *
   * @param batchId the batch that it belongs to
   * @param sequence its place in the log
   * @param time when it was recorded
   * @param inDoubt the calls that were in flight at the interruption, ascending
   */
  record BatchResumed(String batchId, long sequence, Instant time, List<Integer> inDoubt)
      implements BatchEvent {}

  /**
   * The batch is over: its last event.
   *
   * @param batchId the batch that it belongs to
   * @param sequence its place in the log
   * @param time when it was recorded
   * @param summary how it went, with every call's result
   */
  record BatchFinished(String batchId, long sequence, Instant time, BatchSummary summary)
      implements BatchEvent {}
}
