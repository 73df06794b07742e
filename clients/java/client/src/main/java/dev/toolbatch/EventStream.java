package dev.toolbatch;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/**
 * The events of a batch, in their order, each once; it waits for the next one, over lost
 * connections and restarts of the server. It can be gone through once, by one thread. Closing it
 * ends the stream at once and leaves the batch running; any thread may do that.
 *
 * <p>{@link #hasNext()} and {@link #next()} throw
 *
 * <ul>
 *   <li>{@link RefusedException} where the server refuses the request,
 *   <li>{@link UnavailableException} where it was away for too long,
 *   <li>{@link DeadlineExceededException} where the deadline passed,
 *   <li>{@link CancelledException} where the waiting thread is interrupted; the stream is closed
 *       then.
 * </ul>
 */
public final class EventStream
    implements Iterable<BatchEvent>, Iterator<BatchEvent>, AutoCloseable {
  private static final int AHEAD = 16;

  private final String batchId;
  private final Signals signals = new Signals();
  private BatchEvent next;
  private Signal end;
  private long lastSequence;
  private volatile boolean closed;

  /**
   * What a reader is told: an event, or that there is none any more. Of both fields at most one is
   * set.
   */
  private record Signal(BatchEvent event, Throwable error) {}

  EventStream(String batchId, long afterSequence, Consumer<Flow.Subscriber<BatchEvent>> source) {
    this.batchId = batchId;
    this.lastSequence = afterSequence;
    source.accept(signals);
  }

  /**
   * The batch that is followed.
   *
   * @return its id
   */
  public String batchId() {
    return batchId;
  }

  /**
   * How far the stream was read, to come back to with {@link ToolbatchClient#watch(String, long)}.
   *
   * @return the sequence of the last event that was given out; 0 where none was
   */
  public long lastSequence() {
    return lastSequence;
  }

  @Override
  public Iterator<BatchEvent> iterator() {
    return this;
  }

  @Override
  public boolean hasNext() {
    if (next != null) {
      return !closed;
    }
    if (end == null && !closed) {
      take();
    }
    if (end != null && end.error() != null && !closed) {
      throw thrown(end.error());
    }
    return next != null && !closed;
  }

  @Override
  public BatchEvent next() {
    if (!hasNext()) {
      throw new NoSuchElementException(closed ? "the stream was closed" : "the batch is over");
    }
    BatchEvent given = next;
    next = null;
    lastSequence = Math.max(lastSequence, given.sequence());
    signals.subscription.request(1);
    return given;
  }

  @Override
  public void close() {
    closed = true;
    signals.subscription.cancel();
    signals.queue.add(new Signal(null, null));
  }

  private void take() {
    try {
      Signal signal = signals.queue.take();
      next = signal.event();
      end = next == null ? signal : null;
    } catch (InterruptedException interrupted) {
      close();
      Thread.currentThread().interrupt();
      throw new CancelledException(
          "the thread was interrupted while it waited for batch %s, which goes on; the last event seen was %d"
              .formatted(batchId, lastSequence),
          interrupted);
    }
  }

  /** The error with the stack of who reads, as that of the network's thread says nothing. */
  private static RuntimeException thrown(Throwable error) {
    if (error instanceof RuntimeException known) {
      known.fillInStackTrace();
      return known;
    }
    return new IllegalStateException("the stream broke", error);
  }

  private static final class Signals implements Flow.Subscriber<BatchEvent> {
    private final BlockingQueue<Signal> queue = new LinkedBlockingQueue<>();
    private volatile Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(AHEAD);
    }

    @Override
    public void onNext(BatchEvent event) {
      queue.add(new Signal(event, null));
    }

    @Override
    public void onError(Throwable error) {
      queue.add(new Signal(null, error));
    }

    @Override
    public void onComplete() {
      queue.add(new Signal(null, null));
    }
  }
}
