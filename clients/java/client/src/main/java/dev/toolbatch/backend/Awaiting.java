package dev.toolbatch.backend;

import java.util.Objects;

/**
 * Returned by a tool's function that ran and waits for a person's review. The batch stops after it,
 * and its key counts as completed.
 *
 * @param awaitId names the review
 * @param soFar what there is so far: what is written as JSON, or a {@link dev.toolbatch.RawJson};
 *     may be null
 */
public record Awaiting(String awaitId, Object soFar) {
  /**
   * Takes the review's name and what there is so far.
   *
   * @param awaitId names the review
   * @param soFar what there is so far; may be null
   * @throws NullPointerException where the name is null
   */
  public Awaiting {
    Objects.requireNonNull(awaitId, "awaitId");
  }
}
