package dev.toolbatch;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Where a tool waits until its test opens it. */
public final class Gates {
  private static final long SECONDS = 30;

  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch opened = new CountDownLatch(1);
  private final CountDownLatch cancelled = new CountDownLatch(1);

  /** For the tool. */
  public void pass() throws InterruptedException {
    reached.countDown();
    try {
      require(opened, "nobody opened the gate");
    } catch (InterruptedException interrupted) {
      cancelled.countDown();
      throw interrupted;
    }
  }

  public void open() {
    opened.countDown();
  }

  public void awaitReached() throws InterruptedException {
    require(reached, "no tool came to the gate");
  }

  public void awaitCancelled() throws InterruptedException {
    require(cancelled, "the tool at the gate was not interrupted");
  }

  private static void require(CountDownLatch latch, String message) throws InterruptedException {
    if (!latch.await(SECONDS, TimeUnit.SECONDS)) {
      throw new IllegalStateException(message);
    }
  }
}
