package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.backend.CallContext;
import dev.toolbatch.backend.Fate;
import dev.toolbatch.backend.Tool;
import dev.toolbatch.backend.ToolBackend;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that are killed and connections that are cut in the middle of things. */
class ComingBackTest {
  private static final String LARGE = "0123456789".repeat(400_000);

  @TempDir Path folder;
  private final Gates gate = new Gates();
  private final Set<String> ledger = ConcurrentHashMap.newKeySet();

  private Object note(JsonNode args, CallContext context) throws InterruptedException {
    ledger.add(context.idempotencyKey());
    gate.pass();
    return "noted";
  }

  private Fate noted(JsonNode args, CallContext context) {
    return ledger.contains(context.idempotencyKey()) ? Fate.landed("looked up") : Fate.notLanded();
  }

  @Test
  void noEventIsLostOrDoubled() throws Exception {
    Tool<JsonNode> ledgerTool =
        Tool.builder("ledger", JsonNode.class, this::note).lookup(this::noted).build();
    try (ToolBackend backend =
            ToolBackend.builder().listen("127.0.0.1:0").tool(ledgerTool).build().start();
        TestServer server = TestServer.start(folder, backend.port(), "");
        ToolbatchClient client = server.client()) {
      Batch batch =
          Batch.builder("T").call("ledger", Map.of()).inDoubt(InDoubtPolicy.LOOKUP).build();
      List<BatchEvent> events = new ArrayList<>();
      try (EventStream stream = client.run(batch)) {
        events.add(stream.next());
        events.add(stream.next());
        gate.awaitReached();
        server.kill();
        server.start();
        stream.forEach(events::add);
      }
      assertEquals(List.of(1L, 2L, 3L, 4L, 5L), events.stream().map(BatchEvent::sequence).toList());
      assertTrue(
          events.get(2) instanceof BatchEvent.BatchResumed resumed
              && resumed.inDoubt().equals(List.of(0)));
      assertTrue(
          events.get(3) instanceof BatchEvent.CallFinished finished
              && finished.result().resultJson().orElseThrow().equals("\"looked up\""));
      gate.open();
    }
  }

  @Test
  void aRestartIsNotNoticed() throws Exception {
    try (ToolBackend backend =
            ToolBackend.builder()
                .listen("127.0.0.1:0")
                .tool(Tool.builder("hold", JsonNode.class, this::note).build())
                .build()
                .start();
        TestServer server = TestServer.start(folder, backend.port(), "");
        ToolbatchClient client = server.client()) {
      Batch batch = Batch.builder("T").call("hold", Map.of()).call("hold", Map.of("n", 2)).build();
      List<Long> sequences = new ArrayList<>();
      try (EventStream stream = client.run(batch)) {
        sequences.add(stream.next().sequence());
        sequences.add(stream.next().sequence());
        gate.awaitReached();
        CompletableFuture<Process> ended = server.terminate();
        assertThrows(UnavailableException.class, () -> setForEver(client));
        gate.open();
        ended.get(30, TimeUnit.SECONDS);
        server.start();
        stream.forEach(event -> sequences.add(event.sequence()));
      }
      assertEquals(LongStream.rangeClosed(1, sequences.size()).boxed().toList(), sequences);
      BatchSummary summary = client.batch(batch.batchId());
      assertEquals(2, summary.succeeded());
      assertTrue(summary.results().stream().allMatch(result -> result.attempts() == 1));
    }
  }

  private static void setForEver(ToolbatchClient client) {
    while (true) {
      client.setVariable("T", "x", 1);
    }
  }

  @Test
  void connectionsThatAreCutAnywhereAreNotNoticed() throws Exception {
    Random random = new Random(7);
    try (ToolBackend backend =
            ToolBackend.builder()
                .listen("127.0.0.1:0")
                .tool(Tool.builder("echo", RawJson.class, (args, context) -> args).build())
                .tool(Tool.builder("large", RawJson.class, (args, context) -> LARGE).build())
                .build()
                .start();
        TestServer server = TestServer.start(folder, backend.port(), "");
        CuttingProxy proxy = new CuttingProxy(server.port(), () -> 400 + random.nextInt(3_000));
        CuttingProxy wide =
            new CuttingProxy(server.port(), () -> 500_000 + random.nextInt(500_000));
        ToolbatchClient cut = ToolbatchClient.builder().server(proxy.address()).build();
        ToolbatchClient reader = ToolbatchClient.builder().server(wide.address()).build()) {
      Batch.Builder calls = Batch.builder("T").mode(BatchMode.PARALLEL).includeResults(false);
      for (int at = 0; at < 20; at++) {
        calls.call("echo", Map.of("at", at));
      }
      List<Long> sequences = new ArrayList<>();
      try (EventStream events = cut.run(calls.build())) {
        events.forEach(event -> sequences.add(event.sequence()));
      }
      assertEquals(LongStream.rangeClosed(1, 42).boxed().toList(), sequences);
      assertTrue(proxy.cuts() > 2, "cuts: " + proxy.cuts());

      Batch large = Batch.builder("T").call("large", Map.of()).build();
      String step = reader.result(large).results().get(0).stepId();
      assertEquals(Json.write(LARGE), reader.stepResult(step));
      assertTrue(wide.cuts() > 2, "cuts: " + wide.cuts());
    }
  }
}
