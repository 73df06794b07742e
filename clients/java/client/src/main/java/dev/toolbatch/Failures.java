package dev.toolbatch;

import io.grpc.Status;
import java.security.GeneralSecurityException;

/** The words of errors that are not the server's own. */
final class Failures {
  private Failures() {}

  static IllegalStateException closed() {
    return new IllegalStateException("the client is closed");
  }

  /** One line: the status, and the deepest of its causes that says something. */
  static String text(Status status) {
    StringBuilder text = new StringBuilder(status.getCode().name());
    if (status.getDescription() != null) {
      text.append(": ").append(status.getDescription().lines().findFirst().orElse(""));
    }
    String deepest = null;
    String about = "";
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause.getMessage() != null) {
        deepest = cause.getMessage();
      } else if (deepest == null) {
        deepest = cause.getClass().getSimpleName();
      }
      if (cause instanceof GeneralSecurityException) {
        about = "the server's certificate is not accepted: ";
      }
    }
    if (deepest != null) {
      text.append(" (").append(about).append(deepest).append(')');
    }
    return text.toString();
  }

  static DeadlineExceededException exceeded(
      Limit limit, String batchId, long lastSequence, Throwable cause) {
    return new DeadlineExceededException(
        "%s passed before batch %s was over; it goes on, and its last event seen was %d"
            .formatted(limit, batchId, lastSequence),
        cause);
  }

  static CancelledException cancelled(String batchId, long lastSequence, Throwable cause) {
    return new CancelledException(
        "the gRPC context in which batch %s was followed was cancelled; it goes on, and its last event seen was %d"
            .formatted(batchId, lastSequence),
        cause);
  }

  static UnavailableException givenUp(
      Connection connection,
      String what,
      String batchId,
      long lastSequence,
      String why,
      Throwable cause) {
    String running =
        batchId.isEmpty()
            ? ""
            : "; the batch may be running: watch %s after sequence %d"
                .formatted(batchId, lastSequence);
    String message =
        "%s: gave up on %s after %s without it (%s)%s"
            .formatted(
                what, connection.server(), Times.text(connection.giveUpAfter()), why, running);
    return new UnavailableException(message, batchId, lastSequence, cause);
  }
}
