package dev.toolbatch;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The server refused the request. Nothing of it was done, unless {@link #status()} says that this
 * is not known.
 */
public final class RefusedException extends ToolbatchException {
  private static final long serialVersionUID = 1L;

  /** The gRPC status. */
  private final Status.Code status;

  /** The stable reason. */
  private final String reason;

  private final transient Refusal refusal;

  /**
   * A field that breaks a rule.
   *
   * @param field its path in the request, such as {@code call_list.calls[3].key}
   * @param description which rule, and how
   */
  public record Violation(String field, String description) {}

  RefusedException(String message, Status.Code status, Refusal refusal, Throwable cause) {
    super(message, cause);
    this.status = status;
    this.reason = refusal.reason();
    this.refusal = refusal;
  }

  /**
   * The gRPC status.
   *
   * @return its code, never OK
   */
  public Status.Code status() {
    return status;
  }

  /**
   * The stable reason, for programs.
   *
   * @return in UPPER_SNAKE_CASE, such as {@code INVALID_REQUEST}; empty where the server gave none
   */
  public String reason() {
    return reason;
  }

  /**
   * What the reason is about.
   *
   * @return the variable parts of the message, by name
   */
  public Map<String, String> metadata() {
    return refusal == null ? Map.of() : refusal.metadata();
  }

  /**
   * The fields that break a rule.
   *
   * @return as many as the server named; empty where the request's form is not why
   */
  public List<Violation> violations() {
    return refusal == null ? List.of() : refusal.violations();
  }

  /**
   * When to come back.
   *
   * @return the least time to wait, where the server gave one
   */
  public Optional<Duration> retryDelay() {
    return refusal == null ? Optional.empty() : Optional.ofNullable(refusal.retryDelay());
  }
}
