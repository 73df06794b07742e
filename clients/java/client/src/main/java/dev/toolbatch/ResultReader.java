package dev.toolbatch;

import com.google.protobuf.ByteString;
import dev.toolbatch.v1.ReadStepResultRequest;
import dev.toolbatch.v1.TaskServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Reads a step's result in pieces, going on after the last one where the connection is lost. */
final class ResultReader {
  private final Attempts attempts;
  private final String stepId;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  private ResultReader(Attempts attempts, String stepId) {
    this.attempts = attempts;
    this.stepId = stepId;
  }

  static String read(Connection connection, Duration deadline, String stepId) {
    Attempts attempts = new Attempts(connection, deadline, "the result of step " + stepId);
    ResultReader reader = new ResultReader(attempts, stepId);
    return attempts.repeated(reader::rest);
  }

  private String rest(Channel channel, CallOptions options) {
    ReadStepResultRequest request =
        ReadStepResultRequest.newBuilder().setStepId(stepId).setOffset(bytes.size()).build();
    var pieces =
        ClientCalls.blockingServerStreamingCall(
            channel, TaskServiceGrpc.getReadStepResultMethod(), options, request);
    while (pieces.hasNext()) {
      ByteString piece = pieces.next().getChunk();
      bytes.writeBytes(piece.toByteArray());
      attempts.progressed();
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
