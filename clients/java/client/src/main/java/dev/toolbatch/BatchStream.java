package dev.toolbatch;

import dev.toolbatch.v1.BatchServiceGrpc;
import dev.toolbatch.v1.ExecuteBatchRequest;
import dev.toolbatch.v1.ExecuteBatchResponse;
import dev.toolbatch.v1.WatchBatchRequest;
import dev.toolbatch.v1.WatchBatchResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import io.grpc.SynchronizationContext.ScheduledHandle;
import java.time.Duration;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Follows one batch to its end over as many connections as that takes. Everything that happens is
 * put in a row by a {@link SynchronizationContext}, so nothing here is locked, and the subscriber
 * hears one thing at a time.
 */
final class BatchStream implements Flow.Subscription {
  private final Connection connection;

  /** Null where a batch is watched that somebody else began. */
  private final ExecuteBatchRequest execute;

  private final Flow.Subscriber<? super BatchEvent> subscriber;
  private final Duration deadline;
  private final long deadlineAt;
  private final String batchId;
  private final long after;
  private final SynchronizationContext row =
      new SynchronizationContext((thread, error) -> fail(isClosed() ? Failures.closed() : error));
  private final Backoff backoff = new Backoff();

  private long lastSequence;
  private long demand;
  private ClientCall<?, ?> call;
  private boolean awaited;
  private boolean eventCame;
  private boolean done;
  private ScheduledHandle deadlineTimer;
  private ScheduledHandle attemptTimer;

  /** Runs while no stream is open. */
  private ScheduledHandle giveUpTimer;

  private String lost = "no connection came about";
  private Throwable lostCause;

  private BatchStream(
      Connection connection,
      ExecuteBatchRequest execute,
      String batchId,
      long after,
      Duration deadline,
      Flow.Subscriber<? super BatchEvent> subscriber) {
    this.connection = connection;
    this.execute = execute;
    this.batchId = batchId;
    this.after = after;
    this.lastSequence = after;
    this.deadline = deadline;
    this.deadlineAt = deadline == null ? 0 : System.nanoTime() + Times.nanos(deadline);
    this.subscriber = subscriber;
  }

  static void run(
      Connection connection,
      Batch batch,
      Duration deadline,
      Flow.Subscriber<? super BatchEvent> subscriber) {
    new BatchStream(connection, batch.request(), batch.batchId(), 0, deadline, subscriber).start();
  }

  static void watch(
      Connection connection,
      String batchId,
      long afterSequence,
      Duration deadline,
      Flow.Subscriber<? super BatchEvent> subscriber) {
    new BatchStream(connection, null, batchId, afterSequence, deadline, subscriber).start();
  }

  private boolean isClosed() {
    return connection.isClosed();
  }

  private void start() {
    if (isClosed()) {
      throw Failures.closed();
    }
    row.execute(
        () -> {
          subscriber.onSubscribe(this);
          if (done) {
            return;
          }
          if (deadline != null) {
            deadlineTimer =
                after(deadlineAt - System.nanoTime(), () -> fail(deadlineExceeded(null)));
          }
          armGiveUp();
          attempt();
        });
  }

  @Override
  public void request(long more) {
    row.execute(
        () -> {
          if (more <= 0) {
            fail(
                new IllegalArgumentException(
                    "asked for " + more + " events: expected a number above 0"));
            return;
          }
          demand = demand + more < 0 ? Long.MAX_VALUE : demand + more;
          pull();
        });
  }

  @Override
  public void cancel() {
    row.execute(() -> end("the reader left"));
  }

  private void attempt() {
    if (execute != null && lastSequence == 0) {
      open(BatchServiceGrpc.getExecuteBatchMethod(), execute, ExecuteBatchResponse::getEvent);
    } else {
      WatchBatchRequest request =
          WatchBatchRequest.newBuilder().setBatchId(batchId).setAfterSequence(lastSequence).build();
      open(BatchServiceGrpc.getWatchBatchMethod(), request, WatchBatchResponse::getEvent);
    }
  }

  private <Q, A> void open(
      MethodDescriptor<Q, A> method, Q request, Function<A, dev.toolbatch.v1.BatchEvent> event) {
    long left = deadline == null ? Long.MAX_VALUE : deadlineAt - System.nanoTime();
    ClientCall<Q, A> opened = connection.channel().newCall(method, Connection.within(left));
    call = opened;
    awaited = false;
    eventCame = false;
    opened.start(
        new ClientCall.Listener<A>() {
          @Override
          public void onHeaders(Metadata headers) {
            inRow(() -> disarm(giveUpTimer));
          }

          @Override
          public void onMessage(A answer) {
            inRow(() -> received(event.apply(answer)));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            inRow(() -> closed(status, trailers));
          }

          private void inRow(Runnable task) {
            row.execute(
                () -> {
                  if (!done && call == opened) {
                    task.run();
                  }
                });
          }
        },
        new Metadata());
    opened.sendMessage(request);
    opened.halfClose();
    pull();
  }

  /** Asks the connection for one event where the subscriber wants one. */
  private void pull() {
    if (!done && call != null && demand > 0 && !awaited) {
      awaited = true;
      call.request(1);
    }
  }

  private void received(dev.toolbatch.v1.BatchEvent event) {
    awaited = false;
    eventCame = true;
    backoff.reset();
    long sequence = event.getSequence();
    if (sequence > lastSequence + 1) {
      abandon("an event is missing");
      lose("event %d came after event %d".formatted(sequence, lastSequence), null, null);
      return;
    }
    boolean seen = sequence > 0 && sequence <= lastSequence;
    lastSequence = Math.max(lastSequence, sequence);
    BatchEvent known = seen ? null : Events.of(event);
    if (known != null) {
      demand--;
      subscriber.onNext(known);
      if (known instanceof BatchEvent.BatchFinished || known instanceof BatchEvent.BatchPlanned) {
        complete();
      }
    }
    pull();
  }

  private void closed(Status status, Metadata trailers) {
    call = null;
    if (status.isOk()) {
      boolean allWasSeen = execute == null && !eventCame && after > 0 && lastSequence == after;
      if (allWasSeen) {
        complete();
      } else {
        lose("the stream ended without its last event", null, null);
      }
      return;
    }
    Refusal refusal = Refusal.of(status, trailers);
    if (refusal.isTransient(status)) {
      lose(Failures.text(status), refusal.retryDelay(), status.getCause());
    } else if (status.getCode() == Status.Code.DEADLINE_EXCEEDED && deadline != null) {
      fail(deadlineExceeded(status.asRuntimeException()));
    } else {
      fail(refusal.toException(status));
    }
  }

  private void lose(String why, Duration retryDelay, Throwable cause) {
    if (isClosed()) {
      fail(Failures.closed());
      return;
    }
    lost = why;
    lostCause = cause;
    if (giveUpTimer == null || !giveUpTimer.isPending()) {
      armGiveUp();
    }
    attemptTimer = after(backoff.next(retryDelay), this::attempt);
  }

  private void armGiveUp() {
    giveUpTimer =
        after(
            Times.nanos(connection.giveUpAfter()),
            () ->
                fail(
                    Failures.givenUp(
                        connection, "batch " + batchId, batchId, lastSequence, lost, lostCause)));
  }

  private ScheduledHandle after(long nanos, Runnable task) {
    return row.schedule(
        () -> {
          if (!done) {
            task.run();
          }
        },
        Math.max(nanos, 0),
        TimeUnit.NANOSECONDS,
        connection.timers());
  }

  private DeadlineExceededException deadlineExceeded(Throwable cause) {
    String message =
        "the deadline of %s passed before batch %s was over; it goes on, and its last event seen was %d"
            .formatted(Times.text(deadline), batchId, lastSequence);
    return new DeadlineExceededException(message, cause);
  }

  private void complete() {
    // The stream is over on the server's side too: its status is still on the way.
    call = null;
    end("");
    subscriber.onComplete();
  }

  private void fail(Throwable error) {
    if (!done) {
      end("the stream failed");
      subscriber.onError(error);
    }
  }

  private void end(String why) {
    if (done) {
      return;
    }
    done = true;
    abandon(why);
    disarm(deadlineTimer);
    disarm(attemptTimer);
    disarm(giveUpTimer);
  }

  private void abandon(String why) {
    ClientCall<?, ?> left = call;
    call = null;
    if (left != null) {
      left.cancel(why, null);
    }
  }

  private static void disarm(ScheduledHandle timer) {
    if (timer != null) {
      timer.cancel();
    }
  }
}
