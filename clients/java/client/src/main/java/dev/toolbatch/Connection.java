package dev.toolbatch;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
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
    if (isClosed()) {
      throw Failures.closed();
    }
    managed.resetConnectBackoff();
    return channel;
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

  /**
   * Options of a call that may take so many nanoseconds; any time where that is {@link
   * Long#MAX_VALUE}.
   */
  static CallOptions within(long nanos) {
    return nanos == Long.MAX_VALUE
        ? CallOptions.DEFAULT
        : CallOptions.DEFAULT.withDeadlineAfter(Math.max(nanos, 0), TimeUnit.NANOSECONDS);
  }

  @Override
  public void close() {
    managed.shutdownNow();
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
