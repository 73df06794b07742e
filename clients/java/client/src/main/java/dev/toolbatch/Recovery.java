package dev.toolbatch;

import io.grpc.SynchronizationContext;
import io.grpc.SynchronizationContext.ScheduledHandle;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * Comes back to a stream that was lost: it waits before each attempt, and gives up where no stream
 * was open for too long. To be used in the row of its stream alone.
 */
final class Recovery {
  private final Connection connection;
  private final SynchronizationContext row;
  private final Runnable attempt;
  private final BiConsumer<String, Throwable> giveUp;
  private final Backoff backoff = new Backoff();

  private ScheduledHandle attemptTimer;

  /** Runs while no stream is open. */
  private ScheduledHandle giveUpTimer;

  private String why = "no connection came about";
  private Throwable cause;

  /** {@code giveUp} is told why the last stream was lost, and what caused that, if anything. */
  Recovery(
      Connection connection,
      SynchronizationContext row,
      Runnable attempt,
      BiConsumer<String, Throwable> giveUp) {
    this.connection = connection;
    this.row = row;
    this.attempt = attempt;
    this.giveUp = giveUp;
  }

  /** Tells that no stream is open from now on. */
  void without() {
    if (giveUpTimer == null || !giveUpTimer.isPending()) {
      giveUpTimer = after(Times.nanos(connection.giveUpAfter()), () -> giveUp.accept(why, cause));
    }
  }

  /** Tells that a stream is open. */
  void opened() {
    disarm(giveUpTimer);
  }

  /** Tells that an event came. */
  void progressed() {
    backoff.reset();
  }

  /** Asks again after a wait, which is at least {@code least} where that is not null. */
  void lost(String why, Duration least, Throwable cause) {
    this.why = why;
    this.cause = cause;
    without();
    attemptTimer = after(backoff.next(least), attempt);
  }

  void end() {
    disarm(attemptTimer);
    disarm(giveUpTimer);
  }

  private ScheduledHandle after(long nanos, Runnable task) {
    return row.schedule(task, nanos, TimeUnit.NANOSECONDS, connection.timers());
  }

  private static void disarm(ScheduledHandle timer) {
    if (timer != null) {
      timer.cancel();
    }
  }
}
