package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.Timestamp;
import com.google.rpc.RetryInfo;
import dev.toolbatch.v1.BatchFinished;
import dev.toolbatch.v1.BatchStarted;
import dev.toolbatch.v1.CallProgress;
import dev.toolbatch.v1.CallStarted;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Servers that answer what they should not. */
class OddServerTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final StatusRuntimeException AWAY = Status.UNAVAILABLE.asRuntimeException();

  private static dev.toolbatch.v1.BatchEvent.Builder event(long sequence) {
    return dev.toolbatch.v1.BatchEvent.newBuilder().setBatchId("b").setSequence(sequence);
  }

  private static dev.toolbatch.v1.BatchEvent started(long sequence) {
    return event(sequence).setBatchStarted(BatchStarted.getDefaultInstance()).build();
  }

  private static dev.toolbatch.v1.BatchEvent call(long sequence) {
    return event(sequence).setCallStarted(CallStarted.getDefaultInstance()).build();
  }

  private static dev.toolbatch.v1.BatchEvent finished(long sequence) {
    return event(sequence).setBatchFinished(BatchFinished.getDefaultInstance()).build();
  }

  private static Batch batch() {
    return Batch.builder("T").batchId("b").call("echo", Map.of()).build();
  }

  private static List<Long> sequences(OddServer server) {
    List<Long> seen = new ArrayList<>();
    try (ToolbatchClient client = server.client();
        EventStream events = client.run(batch())) {
      assertTimeoutPreemptively(LIMIT, () -> events.forEach(event -> seen.add(event.sequence())));
    }
    return seen;
  }

  @Test
  void gapsAreAskedForAndDoublesDropped() throws Exception {
    try (OddServer server =
        new OddServer(
            List.of(
                List.of(),
                List.of(started(1), call(3)),
                List.of(call(-1)),
                List.of(call(Long.MAX_VALUE)),
                List.of(started(1), call(2), call(2)),
                List.of(call(3), finished(4))),
            AWAY)) {
      assertEquals(List.of(1L, 2L, 3L, 4L), sequences(server));
      assertEquals(
          List.of(
              "execute b",
              "execute b",
              "watch after 1",
              "watch after 1",
              "watch after 1",
              "watch after 2"),
          server.asked());
    }
  }

  @Test
  void timesBeyondAllBoundsAreTheLastOnes() throws Exception {
    var late = Timestamp.newBuilder().setSeconds(Long.MAX_VALUE).setNanos(-1).build();
    var progress = event(0).setTime(late).setCallProgress(CallProgress.getDefaultInstance());
    try (OddServer server =
            new OddServer(List.of(List.of(started(1), progress.build(), finished(2))), AWAY);
        ToolbatchClient client = server.client();
        EventStream events = client.run(batch())) {
      events.next();
      assertEquals(java.time.Instant.MAX, events.next().time());
      assertEquals(2, events.next().sequence());
    }
  }

  @Test
  void aWaitBeyondAllBoundsIsGivenUpOn() throws Exception {
    var delay =
        com.google.protobuf.Duration.newBuilder()
            .setSeconds(Long.MAX_VALUE)
            .setNanos(Integer.MAX_VALUE);
    var away =
        StatusProto.toStatusRuntimeException(
            com.google.rpc.Status.newBuilder()
                .setCode(Status.Code.UNAVAILABLE.value())
                .addDetails(Any.pack(RetryInfo.newBuilder().setRetryDelay(delay).build()))
                .build());
    try (OddServer server = new OddServer(List.of(), away);
        ToolbatchClient client = server.client()) {
      assertThrows(UnavailableException.class, () -> client.setVariable("T", "", 1));
    }
  }

  @Test
  void whatMustNotBeRepeatedIsAskedOnce() throws Exception {
    for (Status status : List.of(Status.UNAVAILABLE, Status.CANCELLED, Status.ABORTED)) {
      try (OddServer server = new OddServer(List.of(), status.asRuntimeException());
          ToolbatchClient client = server.client()) {
        assertThrows(ToolbatchException.class, () -> client.callTool("T", Call.of("echo")));
        assertThrows(ToolbatchException.class, () -> client.setVariable("T", "", 1));
        assertThrows(ToolbatchException.class, () -> client.cancelBatch("b", true));
        assertEquals(List.of("call", "set", "cancel"), server.asked());
      }
    }
  }

  @Test
  void aDeadlineIsOverAllPages() throws Exception {
    try (OddServer server = new OddServer(List.of(), AWAY);
        ToolbatchClient client = server.client()) {
      ToolbatchClient hasty = client.withDeadline(Duration.ofMillis(500));
      var exceeded =
          assertTimeoutPreemptively(
              LIMIT, () -> assertThrows(DeadlineExceededException.class, () -> hasty.usage("T")));
      assertTrue(exceeded.getMessage().contains("500 ms"), exceeded.getMessage());
    }
  }
}
