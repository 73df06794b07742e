package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that is killed in the middle of a batch. */
class ComingBackTest {
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
}
