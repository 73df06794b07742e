package dev.toolbatch.backend;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.concurrent.TimeUnit;

/** Counts the calls that came and whose answers have not left yet. */
final class RunningCalls implements ServerInterceptor {
  private int running;

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> handler) {
    add(1);
    return new SimpleForwardingServerCallListener<>(handler.startCall(call, headers)) {
      @Override
      public void onComplete() {
        add(-1);
        super.onComplete();
      }

      @Override
      public void onCancel() {
        add(-1);
        super.onCancel();
      }
    };
  }

  private synchronized void add(int calls) {
    running += calls;
    notifyAll();
  }

  synchronized boolean isNone() {
    return running == 0;
  }

  /** Waits until none runs; false where the time is over before. */
  synchronized boolean awaitNone(long until) throws InterruptedException {
    while (running > 0) {
      long left = until - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return true;
  }
}
