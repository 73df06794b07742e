package dev.toolbatch;

import java.time.Duration;

/**
 * When and how often a failed attempt of a call is repeated: only where the tool says that it can
 * be, or where the request never left.
 *
 * @param maxAttempts 1 to 10, the first included; 0 leaves it to the server, which repeats nothing
 * @param initialBackoff the wait before the second attempt, up to 10 min; null leaves it to the
 *     server (100 ms)
 * @param maxBackoff the longest wait, up to 10 min; null leaves it to the server (10 s)
 * @param backoffMultiplier how each wait grows, 1 to 10; 0 leaves it to the server (2)
 */
public record RetryPolicy(
    int maxAttempts, Duration initialBackoff, Duration maxBackoff, double backoffMultiplier) {
  /**
   * Repeats with the server's waits.
   *
   * @param maxAttempts 1 to 10, the first included
   * @return the policy
   */
  public static RetryPolicy attempts(int maxAttempts) {
    return new RetryPolicy(maxAttempts, null, null, 0);
  }

  dev.toolbatch.v1.RetryPolicy toProto() {
    var policy = dev.toolbatch.v1.RetryPolicy.newBuilder();
    policy.setMaxAttempts(maxAttempts).setBackoffMultiplier(backoffMultiplier);
    if (initialBackoff != null) {
      policy.setInitialBackoff(Times.toProto(initialBackoff));
    }
    if (maxBackoff != null) {
      policy.setMaxBackoff(Times.toProto(maxBackoff));
    }
    return policy.build();
  }
}
