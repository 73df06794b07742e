package dev.toolbatch.backend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Gates;
import dev.toolbatch.RawJson;
import dev.toolbatch.v1.CallToolRequest;
import dev.toolbatch.v1.CallToolResponse;
import dev.toolbatch.v1.CallToolWithProgressRequest;
import dev.toolbatch.v1.CallToolWithProgressResponse;
import dev.toolbatch.v1.ListToolsRequest;
import dev.toolbatch.v1.LookupCallRequest;
import dev.toolbatch.v1.ToolServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A backend, called as a server calls it. */
class BackendTest {
  private record Order(String contract, Integer quantity) {}

  private final Gates gate = new Gates();
  private volatile CompletableFuture<Void> told;
  private ToolBackend backend;
  private ManagedChannel channel;
  private ToolServiceGrpc.ToolServiceBlockingStub tools;

  @BeforeEach
  void start() throws Exception {
    backend =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .grace(Duration.ofSeconds(20))
            .tool("order", "Posts", "{\"type\":\"object\"}", Order.class, (order, context) -> order)
            .tool("echo", "Echoes", "{}", RawJson.class, (args, context) -> args)
            .tool(Tool.builder("fail", JsonNode.class, this::fail).build())
            .tool(Tool.builder("crash", JsonNode.class, (args, context) -> crash()).build())
            .tool(
                Tool.builder("nan", JsonNode.class, (args, context) -> Map.of("a", Double.NaN))
                    .build())
            .tool(
                Tool.builder(
                        "review", JsonNode.class, (args, context) -> new Awaiting("r", List.of(1)))
                    .build())
            .tool(
                Tool.builder("overflow", JsonNode.class, (args, context) -> overflow(args)).build())
            .tool(
                Tool.builder(
                        "later", JsonNode.class, (args, context) -> new CompletableFuture<String>())
                    .build())
            .tool(Tool.builder("late", JsonNode.class, this::late).reportsProgress().build())
            .tool(Tool.builder("count", JsonNode.class, this::count).reportsProgress().build())
            .tool(
                Tool.builder("hold", JsonNode.class, this::hold)
                    .lookup(this::held)
                    .pauses()
                    .build())
            .build()
            .start();
    channel = NettyChannelBuilder.forAddress("127.0.0.1", backend.port()).usePlaintext().build();
    tools = ToolServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    gate.open();
    backend.close();
  }

  private Object fail(JsonNode args, CallContext context) {
    context.usage("pages", 2.5);
    throw new ToolFailure("locked", "LOCKED", true);
  }

  private static Object crash() {
    throw new IllegalStateException("a secret");
  }

  private static Object overflow(JsonNode args) {
    return overflow(args) + "";
  }

  /** Tells of progress once it is over, and without words. */
  private Object late(JsonNode args, CallContext context) {
    context.progress(1, 2, null);
    told = new CompletableFuture<>();
    new Thread(
            () -> {
              gate.open();
              context.progress(2, 2, "too late");
              told.complete(null);
            })
        .start();
    return 1;
  }

  private Object count(JsonNode args, CallContext context) {
    context.progress(1, 2, "one");
    context.progress(2, 2, "two");
    return 2;
  }

  private Object hold(JsonNode args, CallContext context) throws InterruptedException {
    gate.pass();
    return context.attempt();
  }

  private Fate held(JsonNode args, CallContext context) {
    return switch (context.idempotencyKey()) {
      case "landed" -> Fate.landed(Map.of("a", 1));
      case "failed" -> Fate.failed(new ToolFailure("no"));
      case "unknown" -> Fate.unknown();
      default -> Fate.notLanded();
    };
  }

  private CallToolResponse call(String tool, String args) {
    return tools.callTool(CallToolRequest.newBuilder().setTool(tool).setArgsJson(args).build());
  }

  private Status status(String tool, String args) {
    return assertThrows(StatusRuntimeException.class, () -> call(tool, args)).getStatus();
  }

  @Test
  void toolsAreListedInTheirOrder() {
    var listed = tools.listTools(ListToolsRequest.getDefaultInstance()).getToolsList();
    assertEquals(
        List.of(
            "order",
            "echo",
            "fail",
            "crash",
            "nan",
            "review",
            "overflow",
            "later",
            "late",
            "count",
            "hold"),
        listed.stream().map(tool -> tool.getName()).toList());
    assertTrue(listed.get(9).getReportsProgress());
    assertTrue(listed.get(10).getPauses());
  }

  @Test
  void resultsAreWritten() {
    assertEquals(
        "{\"contract\":\"c\",\"quantity\":null}",
        call("order", "{\"contract\":\"c\"}").getResultJson());
    assertEquals("{ \"n\" : 1.10 }", call("echo", "{ \"n\" : 1.10 }").getResultJson());
    assertEquals("{}", call("echo", "").getResultJson());
    var awaiting = call("review", "{}").getAwaiting();
    assertEquals(List.of("r", "[1]"), List.of(awaiting.getAwaitId(), awaiting.getResultJson()));
  }

  @Test
  void aDeclaredFailureIsAnAnswer() {
    CallToolResponse response = call("fail", "{}");
    assertEquals("locked", response.getFailure().getMessage());
    assertEquals("LOCKED", response.getFailure().getCode());
    assertTrue(response.getFailure().getRetryable());
    assertEquals(2.5, response.getUsage(0).getQuantity());
  }

  @Test
  void anyOtherErrorIsUnknownAndNotSent() {
    Status crashed = status("crash", "{}");
    assertEquals(Status.Code.UNKNOWN, crashed.getCode());
    assertFalse(crashed.getDescription().contains("secret"), crashed.getDescription());
    assertEquals(Status.Code.UNKNOWN, status("nan", "{}").getCode());
    assertEquals(Status.Code.UNKNOWN, status("overflow", "{}").getCode());
    assertEquals(Status.Code.UNKNOWN, status("later", "{}").getCode());
  }

  @Test
  void argsThatDoNotFitRunNothing() {
    var failure = call("order", "{\"quantity\":\"many\"}").getFailure();
    assertEquals("INVALID_ARGS", failure.getCode());
    assertTrue(failure.getMessage().contains("Order"), failure.getMessage());
    assertEquals("INVALID_ARGS", call("count", "{").getFailure().getCode());
  }

  @Test
  void anUnknownToolRanNothing() {
    assertEquals(Status.Code.UNIMPLEMENTED, status("nothing", "{}").getCode());
  }

  @Test
  void progressComesBeforeTheOutcome() {
    var request =
        CallToolWithProgressRequest.newBuilder()
            .setCall(CallToolRequest.newBuilder().setTool("count"));
    List<CallToolWithProgressResponse> messages = new ArrayList<>();
    tools.callToolWithProgress(request.build()).forEachRemaining(messages::add);
    assertEquals(3, messages.size());
    assertEquals("two", messages.get(1).getProgress().getMessage());
    assertEquals("2", messages.get(2).getResponse().getResultJson());
  }

  @Test
  void progressAfterTheOutcomeGoesNowhere() throws Exception {
    var request =
        CallToolWithProgressRequest.newBuilder()
            .setCall(CallToolRequest.newBuilder().setTool("late"));
    List<CallToolWithProgressResponse> messages = new ArrayList<>();
    tools.callToolWithProgress(request.build()).forEachRemaining(messages::add);
    assertEquals("1", messages.get(messages.size() - 1).getResponse().getResultJson());
    assertNull(told.get(10, TimeUnit.SECONDS));
  }

  @Test
  void lookupsTellWhatBecame() {
    assertEquals("{\"a\":1}", lookUp("hold", "landed").getLanded().getResultJson());
    assertEquals("no", lookUp("hold", "failed").getLanded().getFailure().getMessage());
    assertTrue(lookUp("hold", "unknown").hasUnknown());
    assertTrue(lookUp("hold", "other").hasNotLanded());
    var absent = assertThrows(StatusRuntimeException.class, () -> lookUp("echo", "landed"));
    assertEquals(Status.Code.UNIMPLEMENTED, absent.getStatus().getCode());
  }

  private dev.toolbatch.v1.LookupCallResponse lookUp(String tool, String key) {
    var context = dev.toolbatch.v1.CallContext.newBuilder().setIdempotencyKey(key);
    return tools.lookupCall(
        LookupCallRequest.newBuilder().setTool(tool).setContext(context).build());
  }

  @Test
  void aCancelledCallInterruptsItsFunction() throws Exception {
    var hasty = tools.withDeadlineAfter(200, TimeUnit.MILLISECONDS);
    CallToolRequest request = CallToolRequest.newBuilder().setTool("hold").build();
    assertThrows(StatusRuntimeException.class, () -> hasty.callTool(request));
    gate.awaitCancelled();
  }

  @Test
  void stoppingLetsRunningCallsFinish() throws Exception {
    HealthCheckRequest service =
        HealthCheckRequest.newBuilder().setService(ToolServiceGrpc.SERVICE_NAME).build();
    Iterator<HealthCheckResponse> health = HealthGrpc.newBlockingStub(channel).watch(service);
    assertEquals(ServingStatus.SERVING, health.next().getStatus());
    CompletableFuture<CallToolResponse> held =
        CompletableFuture.supplyAsync(() -> call("hold", "{}"));
    gate.awaitReached();
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(backend::stop);
    assertEquals(ServingStatus.NOT_SERVING, health.next().getStatus());
    assertFalse(stopped.isDone());
    gate.open();
    assertEquals("0", held.get(10, TimeUnit.SECONDS).getResultJson());
    assertNull(stopped.get(10, TimeUnit.SECONDS));
    assertThrows(StatusRuntimeException.class, () -> call("echo", "{}"));
  }

  @Test
  void whatIsNotDoneInTimeIsCancelled() throws Exception {
    Gates slow = new Gates();
    ToolBackend hasty =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .grace(Duration.ZERO)
            .tool(Tool.builder("slow", JsonNode.class, (args, context) -> pass(slow)).build())
            .build()
            .start();
    ManagedChannel other =
        NettyChannelBuilder.forAddress("127.0.0.1", hasty.port()).usePlaintext().build();
    var stub = ToolServiceGrpc.newFutureStub(other);
    var call = stub.callTool(CallToolRequest.newBuilder().setTool("slow").build());
    slow.awaitReached();
    hasty.close();
    slow.awaitCancelled();
    assertThrows(java.util.concurrent.ExecutionException.class, call::get);
    other.shutdownNow();
  }

  @Test
  void aGraceBeyondAllBoundsIsAsLongAsItTakes() throws Exception {
    ToolBackend patient =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .grace(Duration.ofSeconds(Long.MAX_VALUE))
            .build()
            .start();
    patient.stop();
  }

  @Test
  void aFileThatIsNoSocketStays(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("precious"), "mine");
    var backend = ToolBackend.builder().listen("unix:" + file).build();
    assertThrows(IOException.class, backend::start);
    backend.close();
    assertEquals("mine", Files.readString(file));
  }

  @Test
  void aSocketIsTakenOverFromTheDeadAlone(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("socket");
    try (var dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      dead.bind(UnixDomainSocketAddress.of(file));
    }
    assertTrue(Files.exists(file));
    ToolBackend first = ToolBackend.builder().listen("unix:" + file).build().start();
    var second = ToolBackend.builder().listen("unix:" + file).build();
    var failed = assertThrows(IOException.class, second::start);
    assertTrue(failed.getMessage().contains("in use"), failed.getMessage());
    second.close();
    assertTrue(Files.exists(file));
    first.close();
    assertFalse(Files.exists(file));
  }

  private static Object pass(Gates gate) throws InterruptedException {
    gate.pass();
    return null;
  }

  @Test
  void whatCannotBeServedIsRefused() {
    ToolBackendBuilder builder = ToolBackend.builder();
    for (String name : List.of("", " a", "a  b", "é", "x".repeat(257))) {
      assertThrows(
          IllegalArgumentException.class,
          () -> builder.tool(name, "", "{}", JsonNode.class, (args, context) -> null));
    }
    assertThrows(
        IllegalArgumentException.class,
        () -> builder.tool("a", "", "[]", JsonNode.class, (args, context) -> null));
    for (String address : List.of("", "7001", "a:b", "127.0.0.1:99999", "unix:relative")) {
      assertThrows(
          IllegalArgumentException.class,
          () -> ToolBackend.builder().listen(address).build(),
          address);
    }
    var nowhere = ToolBackend.builder().listen("nowhere.invalid:1");
    var unknown = assertThrows(IllegalArgumentException.class, nowhere::build);
    assertTrue(unknown.getMessage().contains("nowhere.invalid"), unknown.getMessage());
    var taken = ToolBackend.builder().listen("127.0.0.1:" + backend.port()).build();
    var failed = assertThrows(IOException.class, taken::start);
    assertTrue(failed.getMessage().contains("in use"), failed.getMessage());
  }
}
