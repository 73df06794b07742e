package dev.toolbatch.examples;

import dev.toolbatch.backend.CallContext;
import dev.toolbatch.backend.Fate;
import dev.toolbatch.backend.Tool;
import dev.toolbatch.backend.ToolBackend;
import dev.toolbatch.backend.ToolFailure;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A backend whose tool changes something: it keeps what it did under the call's idempotency key,
 * and never does it twice.
 */
public final class OrderTools {
  private static final String SCHEMA =
      """
      {"type":"object","properties":{"contract":{"type":"string"},"quantity":{"type":"integer","minimum":1}},
       "required":["contract"],"additionalProperties":false}""";

  private record Order(String contract, Integer quantity) {}

  private record Posted(String contract, int quantity, int number) {}

  private final Map<String, Posted> posted = new ConcurrentHashMap<>();

  private OrderTools() {}

  /**
   * Serves at the address given, or at 127.0.0.1:7001.
   *
   * @param args the address, if any
   * @throws Exception where it cannot be listened on
   */
  public static void main(String[] args) throws Exception {
    OrderTools tools = new OrderTools();
    Tool<Order> post =
        Tool.builder("post_order", Order.class, tools::post)
            .description("Posts an order for a contract")
            .schema(SCHEMA)
            .lookup(tools::lookUp)
            .reportsProgress()
            .build();
    ToolBackend.builder()
        .listen(args.length > 0 ? args[0] : "127.0.0.1:7001")
        .tool(post)
        .build()
        .serve();
  }

  private Object post(Order order, CallContext context) {
    if (order.contract().isBlank()) {
      throw new ToolFailure("there is no contract without a number", "NO_CONTRACT", false);
    }
    context.progress(1, 2, "checked " + order.contract());
    int quantity = order.quantity() == null ? 1 : order.quantity();
    Posted done =
        posted.computeIfAbsent(
            context.idempotencyKey(),
            key -> new Posted(order.contract(), quantity, 450_000 + posted.size()));
    context.usage("orders", 1);
    return done;
  }

  private Fate lookUp(Order order, CallContext context) {
    Posted done = posted.get(context.idempotencyKey());
    return done == null ? Fate.notLanded() : Fate.landed(done);
  }
}
