package dev.toolbatch;

import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** An open client's channel and timers. */
final class Connection implements AutoCloseable {
  private static final long CLOSE_SECONDS = 5;

  private final ManagedChannel managed;
  private final Channel channel;
  private final Runnable release;
  private final String server;
  private final Duration giveUpAfter;
  private final ScheduledThreadPoolExecutor timers;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Set<Runnable> onClose = ConcurrentHashMap.newKeySet();

  Connection(
      ManagedChannel managed,
      Runnable release,
      String server,
      Metadata headers,
      Duration giveUpAfter) {
    this.managed = managed;
    this.release = release;
    this.server = server;
    this.giveUpAfter = giveUpAfter;
    this.channel =
        ClientInterceptors.intercept(managed, MetadataUtils.newAttachHeadersInterceptor(headers));
    this.timers =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "toolbatch-timers");
              thread.setDaemon(true);
              return thread;
            });
    timers.setRemoveOnCancelPolicy(true);
  }

  /** The channel, ready to try at once whatever failed before. */
  Channel channel() {
    requireOpen();
    managed.resetConnectBackoff();
    return channel;
  }

  void requireOpen() {
    if (isClosed()) {
      throw Failures.closed();
    }
  }

  boolean isClosed() {
    return managed.isShutdown();
  }

  ScheduledExecutorService timers() {
    return timers;
  }

  Duration giveUpAfter() {
    return giveUpAfter;
  }

  String server() {
    return server;
  }

  /** Waits so many nanoseconds; true where the connection is closed before. */
  boolean awaitClosed(long nanos) throws InterruptedException {
    return closed.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Has the task run when this is closed, at once where it is; maybe more than once. */
  void onClose(Runnable task) {
    onClose.add(task);
    if (isClosed()) {
      task.run();
    }
  }

  void forget(Runnable task) {
    onClose.remove(task);
  }

  @Override
  public void close() {
    managed.shutdownNow();
    closed.countDown();
    onClose.forEach(Runnable::run);
    boolean interrupted = false;
    try {
      managed.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException stop) {
      interrupted = true;
    }
    timers.shutdownNow();
    release.run();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
