package dev.toolbatch.conformance;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.RawJson;
import dev.toolbatch.backend.Awaiting;
import dev.toolbatch.backend.CallContext;
import dev.toolbatch.backend.Fate;
import dev.toolbatch.backend.Tool;
import dev.toolbatch.backend.ToolBackend;
import dev.toolbatch.backend.ToolFailure;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Serves the suite's tools. */
final class BackendProgram {
  private static final String ANY = "{\"type\":\"object\"}";
  private static final String POST_ORDER =
      """
      {"type":"object","properties":{"contract":{"type":"string"},"quantity":{"type":"integer","minimum":1}},
       "required":["contract"],"additionalProperties":false}""";
  private static final String FAIL =
      """
      {"type":"object","properties":{"message":{"type":"string"},"code":{"type":"string"},
       "retryable":{"type":"boolean"},"times":{"type":"integer"}},"required":["message"]}""";
  private static final String REVIEW =
      "{\"type\":\"object\",\"properties\":{\"await_id\":{\"type\":\"string\"}}}";
  private static final String COUNT =
      "{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"integer\"}}}";
  private static final String METER =
      "{\"type\":\"object\",\"properties\":{\"unit\":{\"type\":\"string\"},\"quantity\":{\"type\":\"number\"}}}";
  private static final String LARGE =
      "{\"type\":\"object\",\"properties\":{\"bytes\":{\"type\":\"integer\"}}}";
  private static final String GATE =
      "{\"type\":\"object\",\"properties\":{\"gate\":{\"type\":\"string\"}}}";
  private static final String LEDGER =
      """
      {"type":"object","properties":{"entry":{"type":"string"},"gate":{"type":"string"}},"required":["entry"]}""";

  private record Order(String contract, Integer quantity) {}

  private record Failing(String message, String code, boolean retryable, Integer times) {}

  private record Review(@JsonProperty("await_id") String awaitId) {}

  private record Count(int to) {}

  private record Meter(String unit, BigDecimal quantity) {}

  private record Large(int bytes) {}

  private record Gated(String gate) {}

  private record Entry(String entry, String gate) {}

  private final Set<String> ledger = ConcurrentHashMap.newKeySet();

  private BackendProgram() {}

  static void run(String address) throws IOException, InterruptedException {
    ToolBackend backend = new BackendProgram().backend(address).start();
    System.out.println("listening");
    backend.serveOn();
  }

  private ToolBackend backend(String address) {
    return ToolBackend.builder()
        .listen(address)
        .tool(
            "echo",
            "Gives its args back, byte for byte",
            ANY,
            RawJson.class,
            (args, context) -> args)
        .tool(
            "native",
            "Gives its args back, as a value",
            ANY,
            JsonNode.class,
            (args, context) -> args)
        .tool(
            "post_order",
            "Posts an order",
            POST_ORDER,
            Order.class,
            (order, context) -> post(order))
        .tool("fail", "Fails as it is told", FAIL, Failing.class, BackendProgram::fail)
        .tool("crash", "Breaks off", ANY, JsonNode.class, (args, context) -> crash())
        .tool("review", "Waits for a review", REVIEW, Review.class, (args, context) -> review(args))
        .tool(
            Tool.builder("count", Count.class, BackendProgram::count)
                .schema(COUNT)
                .reportsProgress()
                .build())
        .tool("meter", "Tells what it used", METER, Meter.class, BackendProgram::meter)
        .tool(
            "large", "Gives much", LARGE, Large.class, (args, context) -> "x".repeat(args.bytes()))
        .tool(
            "context",
            "Tells where its call belongs",
            ANY,
            JsonNode.class,
            (args, context) -> context(context))
        .tool("hold", "Waits at a gate", GATE, Gated.class, BackendProgram::hold)
        .tool(
            Tool.builder("ledger", Entry.class, this::note)
                .schema(LEDGER)
                .lookup(this::noted)
                .build())
        .tool(Tool.builder("wait", Gated.class, BackendProgram::hold).schema(GATE).pauses().build())
        .build();
  }

  private static Object post(Order order) {
    return ordered(
        "posted", order.contract(), "quantity", order.quantity() == null ? 1 : order.quantity());
  }

  private static Object fail(Failing args, CallContext context) {
    if (args.times() == null || context.attempt() <= args.times()) {
      throw new ToolFailure(args.message(), args.code(), args.retryable());
    }
    return Map.of("attempt", context.attempt());
  }

  private static Object crash() {
    throw new IllegalStateException("this is no declared failure");
  }

  private static Object review(Review args) {
    return new Awaiting(args.awaitId(), Map.of("draft", true));
  }

  private static Object count(Count args, CallContext context) {
    for (int done = 1; done <= args.to(); done++) {
      context.progress(done, args.to(), done + " of " + args.to());
    }
    return Map.of("counted", args.to());
  }

  private static Object meter(Meter args, CallContext context) {
    context.usage(args.unit(), args.quantity().doubleValue());
    return null;
  }

  private static Object context(CallContext context) {
    return ordered(
        "task_id",
        context.taskId(),
        "agent_id",
        context.agentId(),
        "key",
        context.key(),
        "batch_id",
        context.batchId(),
        "step_id",
        context.stepId(),
        "index",
        context.index(),
        "attempt",
        context.attempt(),
        "idempotency_key",
        context.idempotencyKey(),
        "in_doubt",
        context.inDoubt());
  }

  private static Object hold(Gated args, CallContext context) throws Exception {
    Gate.await(args.gate());
    return ordered("attempt", context.attempt(), "in_doubt", context.inDoubt());
  }

  private Object note(Entry args, CallContext context) throws Exception {
    ledger.add(context.idempotencyKey());
    if (args.gate() != null) {
      Gate.await(args.gate());
    }
    return Map.of("entry", args.entry());
  }

  private Fate noted(Entry args, CallContext context) {
    return ledger.contains(context.idempotencyKey())
        ? Fate.landed(ordered("entry", args.entry(), "looked_up", true))
        : Fate.notLanded();
  }

  private static Map<String, Object> ordered(Object... members) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int at = 0; at < members.length; at += 2) {
      object.put((String) members[at], members[at + 1]);
    }
    return object;
  }
}
