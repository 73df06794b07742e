package dev.toolbatch.backend;

import dev.toolbatch.v1.ToolServiceGrpc;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Serves tools to a toolbatch server, with {@code grpc.health.v1} beside them. {@link #serve()} is
 * a whole program; {@link #start()} and {@link #stop()} are for one that does more.
 */
public final class ToolBackend implements AutoCloseable {
  /** Args of a request of at most 16 MiB, and what is around them. */
  private static final int INBOUND_BYTES = 20 * 1024 * 1024;

  /** How long a connection has to say goodbye once nothing runs. */
  private static final long GOODBYE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** How long functions that were cancelled have to notice. */
  private static final long CANCEL_SECONDS = 5;

  private final Server server;
  private final Listener listener;
  private final Duration grace;
  private final ExecutorService own;
  private final HealthStatusManager health = new HealthStatusManager();
  private final RunningCalls running = new RunningCalls();
  private boolean stopping;

  ToolBackend(
      Map<String, Tool<?>> tools, Listener listener, Duration grace, ExecutorService executor) {
    this.listener = listener;
    this.grace = grace;
    this.own = executor == null ? threads() : null;
    ToolService service = new ToolService(tools, executor == null ? own : executor);
    this.server =
        listener
            .server()
            .addService(ServerInterceptors.intercept(service, running))
            .addService(health.getHealthService())
            .maxInboundMessageSize(INBOUND_BYTES)
            .permitKeepAliveTime(1, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .build();
  }

  /**
   * Says what to serve, and where.
   *
   * @return a builder without tools
   */
  public static ToolBackendBuilder builder() {
    return new ToolBackendBuilder();
  }

  /**
   * Begins to serve. Its threads do not keep the JVM alive: {@link #serve()} and {@link #serveOn()}
   * wait.
   *
   * @return this
   * @throws IOException where the address cannot be listened on
   */
  public ToolBackend start() throws IOException {
    health.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, ServingStatus.SERVING);
    health.setStatus(ToolServiceGrpc.SERVICE_NAME, ServingStatus.SERVING);
    try {
      listener.check().run();
      server.start();
    } catch (IOException failed) {
      stopThreads();
      listener.release().run();
      throw new IOException(
          "cannot listen on " + listener.address() + ": " + reason(failed), failed);
    }
    return this;
  }

  /**
   * The port that is listened on.
   *
   * @return it, once started; -1 on a Unix socket
   */
  public int port() {
    return server.getPort();
  }

  /**
   * Serves until SIGTERM or SIGINT comes, or another thread stops it; then ends as {@link #stop()}
   * does and returns, so that a program whose main method ends there exits with code 0. A second
   * signal cancels what is running. Where the JVM gives no access to signals it is stopped as
   * gracefully, and the exit code is the JVM's own (143 after SIGTERM).
   *
   * @throws IOException where the address cannot be listened on
   * @throws InterruptedException where the thread is interrupted; the backend is stopped then
   */
  public void serve() throws IOException, InterruptedException {
    start();
    serveOn();
  }

  /**
   * As {@link #serve()}, for a backend that was started.
   *
   * @throws InterruptedException where the thread is interrupted; the backend is stopped then
   */
  public void serveOn() throws InterruptedException {
    AtomicInteger signals = new AtomicInteger();
    Runnable stop =
        () -> {
          if (signals.incrementAndGet() == 1) {
            new Thread(this::stop, "toolbatch-stop").start();
          } else {
            server.shutdownNow();
          }
        };
    Signals handled = Signals.handle(stop);
    if (handled == null) {
      Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "toolbatch-stop"));
    }
    try {
      server.awaitTermination();
      stop();
    } finally {
      close();
      if (handled != null) {
        handled.close();
      }
    }
  }

  /**
   * Stops gracefully: health says NOT_SERVING, no new calls are taken, running ones have the grace
   * period to finish, and what is not done by then is cancelled. It returns when all is over; where
   * it is stopped already, when that is over.
   */
  public synchronized void stop() {
    if (stopping) {
      return;
    }
    stopping = true;
    health.enterTerminalState();
    server.shutdown();
    boolean interrupted = false;
    try {
      letFinish();
    } catch (InterruptedException stop) {
      interrupted = true;
    }
    server.shutdownNow();
    stopThreads();
    try {
      server.awaitTermination(CANCEL_SECONDS, TimeUnit.SECONDS);
      if (own != null) {
        own.awaitTermination(CANCEL_SECONDS, TimeUnit.SECONDS);
      }
    } catch (InterruptedException stop) {
      interrupted = true;
    }
    listener.release().run();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** As {@link #stop()}. */
  @Override
  public void close() {
    stop();
  }

  /**
   * Waits for calls, and then for connections: one may bring a call until it has heard that it
   * should not.
   */
  private void letFinish() throws InterruptedException {
    long until = System.nanoTime() + grace.toNanos();
    while (running.awaitNone(until)) {
      if (server.awaitTermination(GOODBYE_NANOS, TimeUnit.NANOSECONDS) || running.isNone()) {
        return;
      }
    }
  }

  private void stopThreads() {
    if (own != null) {
      own.shutdownNow();
    }
  }

  private static String reason(IOException failed) {
    Throwable cause = failed.getCause() == null ? failed : failed.getCause();
    return cause.getMessage() == null ? cause.toString() : cause.getMessage();
  }

  private static ExecutorService threads() {
    AtomicInteger count = new AtomicInteger();
    return Executors.newCachedThreadPool(
        task -> {
          Thread thread = new Thread(task, "toolbatch-tool-" + count.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
  }
}
