package dev.toolbatch;

import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Deadline;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * How long the caller wants one request, over all its attempts: the client's deadline, and what the
 * gRPC context says that the request was made in.
 */
final class Limit {
  private final Context context = Context.current();

  /** Null where the client has none. */
  private final Duration deadline;

  private final long deadlineAt;

  /** Begins now; {@code deadline} is null where there is none. */
  Limit(Duration deadline) {
    this.deadline = deadline;
    this.deadlineAt = deadline == null ? 0 : System.nanoTime() + Times.nanos(deadline);
  }

  /** The context, which every attempt runs in. */
  Context context() {
    return context;
  }

  boolean isSet() {
    return deadline != null || context.getDeadline() != null;
  }

  /** In nanoseconds, below zero once it is over; {@link Long#MAX_VALUE} where nothing is set. */
  long left() {
    long left = deadline == null ? Long.MAX_VALUE : deadlineAt - System.nanoTime();
    Deadline other = context.getDeadline();
    return other == null ? left : Math.min(left, other.timeRemaining(TimeUnit.NANOSECONDS));
  }

  /** For an attempt that begins now. */
  CallOptions options() {
    return isSet()
        ? CallOptions.DEFAULT.withDeadlineAfter(Math.max(left(), 0), TimeUnit.NANOSECONDS)
        : CallOptions.DEFAULT;
  }

  /** For people. */
  @Override
  public String toString() {
    return deadline == null ? "the context's deadline" : "the deadline of " + Times.text(deadline);
  }
}
