package dev.toolbatch;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/** Waits for a batch's last event alone. */
final class SummaryFuture implements Flow.Subscriber<BatchEvent> {
  private final CompletableFuture<BatchSummary> summary = new CompletableFuture<>();

  CompletableFuture<BatchSummary> summary() {
    return summary;
  }

  @Override
  public void onSubscribe(Flow.Subscription subscription) {
    summary.whenComplete((value, error) -> subscription.cancel());
    subscription.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(BatchEvent event) {
    if (event instanceof BatchEvent.BatchFinished finished) {
      summary.complete(finished.summary());
    }
  }

  @Override
  public void onError(Throwable error) {
    summary.completeExceptionally(error);
  }

  @Override
  public void onComplete() {
    summary.completeExceptionally(new IllegalStateException("the batch ended without a summary"));
  }
}
