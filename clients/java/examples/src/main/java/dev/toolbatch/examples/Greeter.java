package dev.toolbatch.examples;

import dev.toolbatch.backend.ToolBackend;
import java.util.Map;

/** The smallest tool backend: one tool that greets. */
public final class Greeter {
  private static final String SCHEMA =
      """
      {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}""";

  private record Args(String name) {}

  private Greeter() {}

  /**
   * Serves at the address given, or at 127.0.0.1:7001.
   *
   * @param args the address, if any
   * @throws Exception where it cannot be listened on
   */
  public static void main(String[] args) throws Exception {
    ToolBackend.builder()
        .listen(args.length > 0 ? args[0] : "127.0.0.1:7001")
        .tool(
            "greet",
            "Greets someone by name",
            SCHEMA,
            Args.class,
            (who, context) -> Map.of("greeting", "Hello, " + who.name()))
        .build()
        .serve();
  }
}
