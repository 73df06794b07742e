package dev.toolbatch;

import dev.toolbatch.v1.BatchServiceGrpc;
import dev.toolbatch.v1.ExecuteBatchRequest;
import dev.toolbatch.v1.ExecuteBatchResponse;
import dev.toolbatch.v1.WatchBatchRequest;
import dev.toolbatch.v1.WatchBatchResponse;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import io.grpc.SynchronizationContext.ScheduledHandle;
import java.time.Duration;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
  private final Limit limit;
  private final String batchId;
  private final long after;
  private final SynchronizationContext row =
      new SynchronizationContext((thread, error) -> fail(isClosed() ? Failures.closed() : error));
  private final Recovery recovery;
  private final Runnable onClose = () -> row.execute(() -> fail(Failures.closed()));
  private final Context.CancellationListener onCancel =
      context -> row.execute(() -> contextEnded(context.cancellationCause()));

  private long lastSequence;
  private long demand;
  private ClientCall<?, ?> call;
  private boolean awaited;
  private boolean eventCame;
  private boolean done;
  private ScheduledHandle deadlineTimer;

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
    this.limit = new Limit(deadline);
    this.subscriber = subscriber;
    this.recovery = new Recovery(connection, row, this::attempt, this::giveUp);
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
    row.execute(() -> subscriber.onSubscribe(this));
    row.execute(
        () -> {
          if (!done) {
            begin();
          }
        });
  }

  private void begin() {
    connection.onClose(onClose);
    limit.context().addListener(onCancel, Runnable::run);
    if (limit.isSet()) {
      deadlineTimer =
          row.schedule(
              () -> fail(Failures.exceeded(limit, batchId, lastSequence, null)),
              Math.max(limit.left(), 0),
              TimeUnit.NANOSECONDS,
              connection.timers());
    }
    recovery.without();
    attempt();
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
    limit.context().run(this::ask);
  }

  private void ask() {
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
    ClientCall<Q, A> opened = connection.channel().newCall(method, limit.options());
    call = opened;
    awaited = false;
    eventCame = false;
    opened.start(
        new ClientCall.Listener<A>() {
          @Override
          public void onHeaders(Metadata headers) {
            inRow(recovery::opened);
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
    long sequence = event.getSequence();
    boolean logged = sequence != 0;
    if (logged && Long.compareUnsigned(sequence, lastSequence) <= 0) {
      pull();
      return;
    }
    if (logged && sequence != lastSequence + 1) {
      abandon("an event is missing");
      lose(
          "event %s came after event %d".formatted(Long.toUnsignedString(sequence), lastSequence),
          null,
          null);
      return;
    }
    if (logged) {
      lastSequence = sequence;
    }
    recovery.progressed();
    BatchEvent known = Events.of(event);
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
    } else if (status.getCode() == Status.Code.DEADLINE_EXCEEDED && limit.isSet()) {
      fail(Failures.exceeded(limit, batchId, lastSequence, status.asRuntimeException()));
    } else {
      fail(refusal.toException(status));
    }
  }

  private void lose(String why, Duration retryDelay, Throwable cause) {
    if (isClosed()) {
      fail(Failures.closed());
      return;
    }
    recovery.lost(why, retryDelay, cause);
  }

  private void giveUp(String why, Throwable cause) {
    fail(Failures.givenUp(connection, "batch " + batchId, batchId, lastSequence, why, cause));
  }

  private void contextEnded(Throwable cause) {
    fail(
        cause instanceof TimeoutException
            ? Failures.exceeded(limit, batchId, lastSequence, cause)
            : Failures.cancelled(batchId, lastSequence, cause));
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
    recovery.end();
    if (deadlineTimer != null) {
      deadlineTimer.cancel();
    }
    connection.forget(onClose);
    limit.context().removeListener(onCancel);
  }

  private void abandon(String why) {
    ClientCall<?, ?> left = call;
    call = null;
    if (left != null) {
      left.cancel(why, null);
    }
  }
}
