package dev.toolbatch;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** The waits between attempts: 100 ms, doubling up to 5 s, each with full jitter. */
final class Backoff {
  private static final long FIRST = Duration.ofMillis(100).toNanos();
  private static final long LONGEST = Duration.ofSeconds(5).toNanos();

  private long bound = FIRST;

  /**
   * The next wait in nanoseconds, at least what the server asked for, where it did ({@code least}
   * may be null).
   */
  long next(Duration least) {
    long wait = ThreadLocalRandom.current().nextLong(bound + 1);
    bound = Math.min(bound * 2, LONGEST);
    return least == null ? wait : Math.max(wait, Times.nanos(least));
  }

  void reset() {
    bound = FIRST;
  }
}
