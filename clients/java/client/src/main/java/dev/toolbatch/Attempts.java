package dev.toolbatch;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.function.BiFunction;

/**
 * Does one request, again and again where that is safe and the server is away, within the caller's
 * deadline.
 */
final class Attempts {
  private final Connection connection;
  private final Limit limit;
  private final String what;
  private final Backoff backoff = new Backoff();
  private long lostSince = System.nanoTime();

  Attempts(Connection connection, Duration deadline, String what) {
    this.connection = connection;
    this.limit = new Limit(deadline);
    this.what = what;
  }

  /** Tells that an answer came, or a part of one. */
  void progressed() {
    lostSince = System.nanoTime();
    backoff.reset();
  }

  /** One attempt, for what must not be repeated. */
  <T> T once(BiFunction<Channel, CallOptions, T> attempt) {
    try {
      return attempt.apply(connection.channel(), limit.options());
    } catch (StatusRuntimeException failed) {
      Refusal refusal = refusal(failed);
      if (!refusal.isTransient(failed.getStatus())
          || failed.getStatus().getCode() == Status.Code.RESOURCE_EXHAUSTED) {
        throw refusal.toException(failed.getStatus());
      }
      String message =
          "%s: %s did not answer (%s)"
              .formatted(what, connection.server(), Failures.text(failed.getStatus()));
      throw new UnavailableException(message, "", 0, failed);
    }
  }

  /** Attempts until one is answered. */
  <T> T repeated(BiFunction<Channel, CallOptions, T> attempt) {
    while (true) {
      try {
        return attempt.apply(connection.channel(), limit.options());
      } catch (StatusRuntimeException failed) {
        Refusal refusal = refusal(failed);
        if (!refusal.isTransient(failed.getStatus())) {
          throw refusal.toException(failed.getStatus());
        }
        pause(backoff.next(refusal.retryDelay()), failed);
      }
    }
  }

  private void pause(long wait, StatusRuntimeException failed) {
    long untilGivenUp = lostSince + Times.nanos(connection.giveUpAfter()) - System.nanoTime();
    long bounded = Math.min(wait, Math.min(limit.left(), untilGivenUp));
    try {
      if (connection.awaitClosed(bounded)) {
        throw Failures.closed();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw interrupted(interrupted);
    }
    if (limit.left() <= 0) {
      throw exceeded(failed);
    }
    if (wait >= untilGivenUp) {
      throw Failures.givenUp(connection, what, "", 0, Failures.text(failed.getStatus()), failed);
    }
  }

  private Refusal refusal(StatusRuntimeException failed) {
    Status.Code code = failed.getStatus().getCode();
    if (code == Status.Code.CANCELLED && Thread.currentThread().isInterrupted()) {
      throw interrupted(failed);
    }
    if (code == Status.Code.CANCELLED && limit.context().isCancelled()) {
      throw new CancelledException(
          what + ": the gRPC context of the request was cancelled", failed);
    }
    if (code == Status.Code.DEADLINE_EXCEEDED && limit.isSet()) {
      throw exceeded(failed);
    }
    Metadata trailers = failed.getTrailers() == null ? new Metadata() : failed.getTrailers();
    return Refusal.of(failed.getStatus(), trailers);
  }

  private CancelledException interrupted(Throwable cause) {
    return new CancelledException(what + ": the thread was interrupted while it waited", cause);
  }

  private DeadlineExceededException exceeded(Throwable cause) {
    return new DeadlineExceededException("%s: %s passed".formatted(what, limit), cause);
  }
}
