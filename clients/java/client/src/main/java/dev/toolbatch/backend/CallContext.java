package dev.toolbatch.backend;

import dev.toolbatch.v1.ToolProgress;
import dev.toolbatch.v1.UsageItem;
import io.grpc.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Where a call belongs, and what it can tell on the way. For any thread. */
public final class CallContext {
  private final dev.toolbatch.v1.CallContext proto;
  private final Context call;
  private final Consumer<ToolProgress> progress;
  private final List<UsageItem> usage = new ArrayList<>();

  CallContext(dev.toolbatch.v1.CallContext proto, Context call, Consumer<ToolProgress> progress) {
    this.proto = proto;
    this.call = call;
    this.progress = progress;
  }

  /**
   * The task that the call belongs to.
   *
   * @return its id
   */
  public String taskId() {
    return proto.getTaskId();
  }

  /**
   * The agent that the call is made for.
   *
   * @return its id
   */
  public String agentId() {
    return proto.getAgentId();
  }

  /**
   * The call's stable identity in its task.
   *
   * @return empty where it has none
   */
  public String key() {
    return proto.getKey();
  }

  /**
   * The batch of the call.
   *
   * @return its id; empty for a direct step
   */
  public String batchId() {
    return proto.getBatchId();
  }

  /**
   * The step that records the call.
   *
   * @return its id
   */
  public String stepId() {
    return proto.getStepId();
  }

  /**
   * The call's place in its batch.
   *
   * @return from 0
   */
  public int index() {
    return proto.getIndex();
  }

  /**
   * Which attempt of the call this is.
   *
   * @return 1 for the first; retries and reruns count on
   */
  public int attempt() {
    return proto.getAttempt();
  }

  /**
   * Names the logical call: the same for all its attempts, across restarts, and for nothing else. A
   * tool that changes something keeps it, and must not act twice under one.
   *
   * @return shaped as a UUID
   */
  public String idempotencyKey() {
    return proto.getIdempotencyKey();
  }

  /**
   * Whether an earlier attempt was cut off, so that it may have taken effect.
   *
   * @return true where one may
   */
  public boolean inDoubt() {
    return proto.getInDoubt();
  }

  /**
   * Whether nobody waits for the answer any more: the call was cancelled, or its time is over.
   *
   * @return true where that is so; the function's thread is interrupted then
   */
  public boolean isCancelled() {
    return call.isCancelled();
  }

  /**
   * How much time the call has left.
   *
   * @return not below zero; nothing where it is not bounded
   */
  public Optional<Duration> timeLeft() {
    return Optional.ofNullable(call.getDeadline())
        .map(
            deadline ->
                Duration.ofNanos(Math.max(0, deadline.timeRemaining(TimeUnit.NANOSECONDS))));
  }

  /**
   * Tells how far the call is, for tools that {@linkplain Tool.Builder#reportsProgress() report
   * progress}; others tell nobody. Where it is told faster than it can be sent, some is left out.
   *
   * @param done how much is done, in the tool's own unit
   * @param total how much there is to do; 0 where that is not known
   * @param message for people; null for none
   */
  public void progress(double done, double total, String message) {
    String words = message == null ? "" : message;
    progress.accept(
        ToolProgress.newBuilder().setProgress(done).setTotal(total).setMessage(words).build());
  }

  /**
   * Tells what the call used, whatever its outcome. Where nothing is told it counts as one of
   * {@code calls}.
   *
   * @param unit such as {@code pages} or {@code tokens}
   * @param quantity how many; finite and not negative
   * @throws IllegalArgumentException where the quantity is neither
   */
  public void usage(String unit, double quantity) {
    if (!Double.isFinite(quantity) || quantity < 0) {
      throw new IllegalArgumentException(
          "a used quantity has to be finite and not negative, but of %s it is %s"
              .formatted(unit, quantity));
    }
    synchronized (usage) {
      usage.add(UsageItem.newBuilder().setUnit(unit).setQuantity(quantity).build());
    }
  }

  List<UsageItem> used() {
    synchronized (usage) {
      return List.copyOf(usage);
    }
  }
}
