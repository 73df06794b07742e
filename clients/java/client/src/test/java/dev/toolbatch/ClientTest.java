package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.backend.Tool;
import dev.toolbatch.backend.ToolBackend;
import dev.toolbatch.backend.ToolFailure;
import io.grpc.Context;
import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The client against the real server. */
class ClientTest {
  private static final String ANY = "{\"type\":\"object\"}";
  private static final Map<String, Gates> GATES = new ConcurrentHashMap<>();

  @TempDir static Path folder;
  private static ToolBackend backend;
  private static TestServer server;
  private static ToolbatchClient client;

  @BeforeAll
  static void start() throws Exception {
    backend =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .tool("echo", "Gives its args back", ANY, RawJson.class, (args, context) -> args)
            .tool(
                "large",
                "Gives much",
                ANY,
                JsonNode.class,
                (args, context) -> "é".repeat(args.get("n").intValue()))
            .tool("fail", "Fails", ANY, JsonNode.class, (args, context) -> fail())
            .tool(
                "hold",
                "Waits",
                ANY,
                JsonNode.class,
                (args, context) -> hold(args.get("gate").textValue()))
            .tool(
                Tool.builder("meter", JsonNode.class, (args, context) -> meter(args, context))
                    .build())
            .build()
            .start();
    server =
        TestServer.start(
            folder,
            backend.port(),
            "[prices]\ncurrency = \"USD\"\n[prices.tools]\nmeter = { tokens = \"0.000000001\" }\n");
    client = server.client();
  }

  @AfterAll
  static void stop() throws Exception {
    client.close();
    server.close();
    backend.close();
  }

  private static Object fail() {
    throw new ToolFailure("no such contract", "MISSING", false);
  }

  private static Object hold(String gate) throws InterruptedException {
    gate(gate).pass();
    return null;
  }

  private static Object meter(JsonNode args, dev.toolbatch.backend.CallContext context) {
    context.usage("tokens", args.get("tokens").doubleValue());
    return null;
  }

  private static Gates gate(String name) {
    return GATES.computeIfAbsent(name, key -> new Gates());
  }

  private static Batch held(String gate) {
    return Batch.builder("T-hold").call("hold", Map.of("gate", gate)).build();
  }

  @Test
  void eventsComeInOrder() {
    Batch batch =
        Batch.builder("T-run")
            .call("echo", new RawJson("{\"n\":1.10}"))
            .call(Call.of("echo").withKey("k"))
            .build();
    List<BatchEvent> events = new ArrayList<>();
    try (EventStream stream = client.run(batch)) {
      stream.forEach(events::add);
      assertEquals(6, stream.lastSequence());
    }
    assertEquals(
        List.of(1L, 2L, 3L, 4L, 5L, 6L), events.stream().map(BatchEvent::sequence).toList());
    var started = assertInstanceOf(BatchEvent.BatchStarted.class, events.get(0));
    assertTrue(started.options().stopOnError());
    var finished = assertInstanceOf(BatchEvent.CallFinished.class, events.get(2));
    assertEquals("{\"n\":1.10}", finished.result().resultJson().orElseThrow());
    assertEquals("1.10", finished.result().value().orElseThrow().get("n").asText());
    var over = assertInstanceOf(BatchEvent.BatchFinished.class, events.get(5));
    assertEquals(BatchStatus.COMPLETED, over.summary().status());
  }

  @Test
  void theSameBatchAttaches() {
    Batch batch = Batch.builder("T-again").call("echo", Map.of()).build();
    String step = client.result(batch).results().get(0).stepId();
    assertEquals(step, client.result(batch).results().get(0).stepId());
  }

  @Test
  void aFailedCallIsAResult() {
    BatchSummary summary =
        client.result(
            Batch.builder("T-fail").call("fail", Map.of()).call("echo", Map.of()).build());
    assertEquals(BatchStatus.FAILED, summary.status());
    assertEquals(StopReason.CALL_FAILED, summary.stopReason());
    CallError error = summary.results().get(0).error().orElseThrow();
    assertEquals(List.of("no such contract", "MISSING"), List.of(error.message(), error.code()));
    assertEquals(CallStatus.NOT_RUN, summary.results().get(1).status());
  }

  @Test
  void aRefusalNamesTheFields() {
    Batch wrong = Batch.builder("").call("", Map.of()).build();
    var refused = assertThrows(RefusedException.class, () -> client.result(wrong));
    assertEquals(Status.Code.INVALID_ARGUMENT, refused.status());
    assertEquals("INVALID_REQUEST", refused.reason());
    assertEquals(
        List.of("task_id", "call_list.calls[0].tool"),
        refused.violations().stream().map(RefusedException.Violation::field).toList());
    assertTrue(refused.getStackTrace()[0].getClassName().startsWith("dev.toolbatch"));
    var unknown = assertThrows(RefusedException.class, () -> client.step("nothing"));
    assertEquals(Status.Code.NOT_FOUND, unknown.status());
  }

  @Test
  void aPlanIsAllThatValidatingGives() {
    Batch batch =
        Batch.builder("T-plan")
            .call("echo", Map.of())
            .call("nothing", Map.of())
            .validateOnly()
            .build();
    List<BatchEvent> events = new ArrayList<>();
    try (EventStream stream = client.run(batch)) {
      stream.forEach(events::add);
    }
    var planned = assertInstanceOf(BatchEvent.BatchPlanned.class, events.get(0));
    assertEquals(1, events.size());
    assertEquals("tools", planned.calls().get(0).backend());
    assertEquals(
        CallErrorReason.TOOL_NOT_FOUND, planned.calls().get(1).error().orElseThrow().reason());
    assertThrows(IllegalArgumentException.class, () -> client.result(batch));
  }

  @Test
  void leavingKeepsTheBatchRunning() throws Exception {
    Batch batch = held("leave");
    long seen;
    try (EventStream events = client.run(batch)) {
      events.next();
      events.next();
      seen = events.lastSequence();
      gate("leave").awaitReached();
    }
    gate("leave").open();
    List<Long> rest = new ArrayList<>();
    try (EventStream events = client.watch(batch.batchId(), seen)) {
      events.forEach(event -> rest.add(event.sequence()));
    }
    assertEquals(List.of(3L, 4L), rest);
    try (EventStream events = client.watch(batch.batchId(), 4)) {
      assertFalse(events.hasNext());
    }
  }

  @Test
  void aDeadlineEndsTheWaitAndNotTheBatch() {
    Batch batch = held("deadline");
    ToolbatchClient hasty = client.withDeadline(Duration.ofMillis(300));
    assertThrows(DeadlineExceededException.class, () -> hasty.result(batch));
    assertEquals(BatchStatus.RUNNING, client.batch(batch.batchId()).status());
    gate("deadline").open();
    assertEquals(BatchStatus.COMPLETED, client.result(batch).status());
  }

  @Test
  void anInterruptionEndsTheWait() throws Exception {
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    Thread reader =
        new Thread(
            () -> {
              try {
                client.result(held("interrupt"));
              } catch (CancelledException cancelled) {
                thrown.complete(Thread.currentThread().isInterrupted() ? cancelled : null);
              }
            });
    reader.start();
    gate("interrupt").awaitReached();
    reader.interrupt();
    assertInstanceOf(CancelledException.class, thrown.get(10, TimeUnit.SECONDS));
    gate("interrupt").open();
  }

  @Test
  void closingFromAnotherThreadEndsTheLoop() throws Exception {
    EventStream events = client.run(held("close"));
    CompletableFuture<Integer> count =
        CompletableFuture.supplyAsync(
            () -> {
              int seen = 0;
              for (BatchEvent event : events) {
                seen += event.sequence() > 0 ? 1 : 0;
              }
              return seen;
            });
    gate("close").awaitReached();
    events.close();
    assertTrue(count.get(10, TimeUnit.SECONDS) <= 2);
    gate("close").open();
  }

  @Test
  void aFutureGivesTheSummaryAndCanBeCancelled() throws Exception {
    Batch echo = Batch.builder("T-async").call("echo", Map.of()).build();
    assertEquals(1, client.resultAsync(echo).get(10, TimeUnit.SECONDS).succeeded());
    Batch batch = held("future");
    CompletableFuture<BatchSummary> summary = client.resultAsync(batch);
    gate("future").awaitReached();
    summary.cancel(true);
    assertThrows(CancellationException.class, summary::join);
    assertEquals(BatchStatus.RUNNING, client.batch(batch.batchId()).status());
    gate("future").open();
    assertEquals(BatchStatus.COMPLETED, client.result(batch).status());
  }

  @Test
  void aPublisherGivesAsManyAsAreAskedFor() throws Exception {
    Batch batch = Batch.builder("T-flow").call("echo", Map.of()).call("echo", Map.of()).build();
    CompletableFuture<List<Long>> all = new CompletableFuture<>();
    client
        .publisher(batch)
        .subscribe(
            new Flow.Subscriber<>() {
              private final List<Long> seen = new ArrayList<>();
              private Flow.Subscription subscription;

              @Override
              public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                given.request(1);
              }

              @Override
              public void onNext(BatchEvent event) {
                seen.add(event.sequence());
                subscription.request(1);
              }

              @Override
              public void onError(Throwable error) {
                all.completeExceptionally(error);
              }

              @Override
              public void onComplete() {
                all.complete(seen);
              }
            });
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L), all.get(10, TimeUnit.SECONDS));
  }

  @Test
  void variablesHoldCalls() {
    String name =
        client.setVariable(
            "T-var", "", Map.of("calls", List.of(Map.of("tool", "echo", "args", Map.of("a", 1)))));
    BatchSummary summary =
        client.result(Batch.builder("T-var").callsRef("${" + name + "}.calls").build());
    assertEquals("{\"a\":1}", summary.results().get(0).resultJson().orElseThrow());
  }

  @Test
  void largeResultsAreReadFromTheirStep() {
    CallResult result =
        client
            .result(Batch.builder("T-large").call("large", Map.of("n", 3_000_000)).build())
            .results()
            .get(0);
    assertTrue(result.resultOmitted());
    assertEquals(6_000_002, client.step(result.stepId()).resultBytes());
    assertTrue(client.step(result.stepId()).resultJson().isEmpty());
    assertEquals("\"" + "é".repeat(3_000_000) + "\"", client.stepResult(result.stepId()));
  }

  @Test
  void usageKeepsItsDigits() {
    client.result(
        Batch.builder("T-usage").call("meter", Map.of("tokens", 9007199254740994L)).build());
    UsageRow row = client.usage("T-usage").get(0);
    assertEquals(9007199254740994L, row.costNanos());
    assertEquals(
        List.of("meter", "tokens", "USD"), List.of(row.tool(), row.unit(), row.currency()));
  }

  @Test
  void aBatchCanBeCancelled() throws Exception {
    Batch batch = held("cancel");
    CompletableFuture<BatchSummary> summary = client.resultAsync(batch);
    gate("cancel").awaitReached();
    client.cancelBatch(batch.batchId(), true);
    gate("cancel").awaitCancelled();
    assertTrue(
        summary.get(10, TimeUnit.SECONDS).results().get(0).error().orElseThrow().outcomeUnknown());
  }

  @Test
  void closingTheClientEndsItsStreams() throws Exception {
    ToolbatchClient other = server.client();
    EventStream events = other.run(held("client"));
    gate("client").awaitReached();
    other.close();
    assertThrows(IllegalStateException.class, () -> events.forEachRemaining(event -> {}));
    gate("client").open();
  }

  @Test
  void closingTheClientEndsWhatWaitsForAServer() throws Exception {
    ToolbatchClient lost =
        ToolbatchClient.builder().server("http://127.0.0.1:" + TestServer.freePort()).build();
    EventStream events = lost.run(Batch.builder("T").call("echo", Map.of()).build());
    CompletableFuture<BatchSummary> summary =
        lost.resultAsync(Batch.builder("T").call("echo", Map.of()).build());
    CompletableFuture<Boolean> read = CompletableFuture.supplyAsync(events::hasNext);
    CompletableFuture<Object> tools = CompletableFuture.supplyAsync(lost::tools);
    lost.close();
    for (CompletableFuture<?> waiting : List.of(summary, read, tools)) {
      var failed = assertThrows(ExecutionException.class, () -> waiting.get(10, TimeUnit.SECONDS));
      assertInstanceOf(IllegalStateException.class, failed.getCause());
    }
  }

  @Test
  void aClosedClientTellsSubscribers() throws Exception {
    ToolbatchClient closed = server.client();
    var publisher = closed.publisher(Batch.builder("T").call("echo", Map.of()).build());
    closed.close();
    SummaryFuture subscriber = new SummaryFuture();
    publisher.subscribe(subscriber);
    var failed =
        assertThrows(
            ExecutionException.class, () -> subscriber.summary().get(10, TimeUnit.SECONDS));
    assertInstanceOf(IllegalStateException.class, failed.getCause());
  }

  @Test
  void aCancelledContextEndsTheWait() throws Exception {
    try (Context.CancellableContext context = Context.current().withCancellation()) {
      CompletableFuture<BatchSummary> future =
          context.call(() -> client.resultAsync(held("context")));
      gate("context").awaitReached();
      context.cancel(null);
      var failed = assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS));
      assertInstanceOf(CancelledException.class, failed.getCause());
      assertThrows(CancelledException.class, () -> context.call(client::tools));
    }
    gate("context").open();
  }

  @Test
  void aContextsDeadlineIsTheCallers() throws Exception {
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    try (Context.CancellableContext context =
        Context.current().withDeadlineAfter(300, TimeUnit.MILLISECONDS, timer)) {
      assertThrows(
          DeadlineExceededException.class,
          () -> context.call(() -> client.result(held("context deadline"))));
      assertThrows(DeadlineExceededException.class, () -> context.call(client::tools));
    }
    timer.shutdownNow();
    gate("context deadline").open();
  }

  @Test
  void aServerThatIsAwayIsGivenUpOn() throws Exception {
    String nowhere = "http://127.0.0.1:" + TestServer.freePort();
    try (ToolbatchClient lost =
        ToolbatchClient.builder().server(nowhere).giveUpAfter(Duration.ofMillis(400)).build()) {
      Batch batch = Batch.builder("T").call("echo", Map.of()).build();
      var unavailable = assertThrows(UnavailableException.class, () -> lost.result(batch));
      assertEquals(batch.batchId(), unavailable.batchId());
      assertTrue(unavailable.getMessage().contains(batch.batchId()), unavailable.getMessage());
      assertThrows(UnavailableException.class, lost::tools);
      assertThrows(UnavailableException.class, () -> lost.setVariable("T", "", 1));
      ToolbatchClient hasty = lost.withDeadline(Duration.ofMillis(100));
      assertThrows(DeadlineExceededException.class, () -> hasty.result(batch));
      assertThrows(DeadlineExceededException.class, hasty::tools);
    }
  }
}
