package dev.toolbatch;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What a status says beyond its code. {@code retryDelay} is null where there is none. */
record Refusal(
    String reason,
    Map<String, String> metadata,
    List<RefusedException.Violation> violations,
    Duration retryDelay) {

  /** Transport faults that grpc-java reports as INTERNAL or UNKNOWN. */
  private static final List<String> TRANSPORT_FAULTS =
      List.of(
          "HTTP/2 error code",
          "RST_STREAM",
          "Rst Stream",
          "Encountered end-of-stream mid-frame",
          "Received unexpected EOS",
          "channel closed");

  static Refusal of(Status status, Metadata trailers) {
    String reason = "";
    Map<String, String> metadata = Map.of();
    List<RefusedException.Violation> violations = List.of();
    Duration retryDelay = null;
    try {
      com.google.rpc.Status details = StatusProto.fromStatusAndTrailers(status, trailers);
      for (Any detail : details.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          reason = info.getReason();
          metadata = Map.copyOf(info.getMetadataMap());
        } else if (detail.is(BadRequest.class)) {
          violations =
              detail.unpack(BadRequest.class).getFieldViolationsList().stream()
                  .map(
                      found ->
                          new RefusedException.Violation(found.getField(), found.getDescription()))
                  .toList();
        } else if (detail.is(RetryInfo.class)) {
          retryDelay = Times.of(detail.unpack(RetryInfo.class).getRetryDelay());
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException damaged) {
      // The code and the message stand without them.
      return new Refusal(reason, metadata, violations, retryDelay);
    }
    return new Refusal(reason, metadata, violations, retryDelay);
  }

  /** Whether asking again can help: the server is away for now, or the connection was lost. */
  boolean isTransient(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, CANCELLED -> true;
      case RESOURCE_EXHAUSTED -> retryDelay != null;
      case INTERNAL, UNKNOWN -> reason.isEmpty() && isTransportFault(status);
      default -> false;
    };
  }

  private static boolean isTransportFault(Status status) {
    for (Throwable cause = status.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException) {
        return true;
      }
    }
    String description = status.getDescription();
    return description != null && TRANSPORT_FAULTS.stream().anyMatch(description::contains);
  }

  RefusedException toException(Status status) {
    String description = status.getDescription();
    String message = description == null ? status.getCode().name() : description;
    return new RefusedException(message, status.getCode(), this, status.getCause());
  }
}
