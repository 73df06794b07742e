package dev.toolbatch;

import io.grpc.Status;

/** The words of errors that are not the server's own. */
final class Failures {
  private Failures() {}

  static IllegalStateException closed() {
    return new IllegalStateException("the client is closed");
  }

  /** One line: the status, and what was at the root of it. */
  static String text(Status status) {
    StringBuilder text = new StringBuilder(status.getCode().name());
    if (status.getDescription() != null) {
      text.append(": ").append(status.getDescription().lines().findFirst().orElse(""));
    }
    Throwable root = status.getCause();
    while (root != null && root.getCause() != null) {
      root = root.getCause();
    }
    if (root != null && root.getMessage() != null) {
      text.append(" (").append(root.getMessage()).append(')');
    }
    return text.toString();
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
