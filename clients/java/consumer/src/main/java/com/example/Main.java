package com.example;

import dev.toolbatch.Batch;
import dev.toolbatch.BatchEvent;
import dev.toolbatch.BatchStatus;
import dev.toolbatch.EventStream;
import dev.toolbatch.ToolbatchClient;
import dev.toolbatch.backend.ToolBackend;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Serves a tool, and runs a batch of it over Unix sockets: {@code Main SERVER_BINARY FOLDER}. */
public final class Main {
  private static final String SCHEMA = "{\"type\":\"object\",\"required\":[\"to\"]}";

  private record Letter(String to) {}

  private Main() {}

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[1]);
    String config =
        """
        listen = "unix:%1$s/server.sock"
        data_dir = "%1$s/data"
        [[backends]]
        name = "post"
        addresses = ["unix:%1$s/tools.sock"]
        """;
    Path file = Files.writeString(folder.resolve("toolbatch.toml"), config.formatted(folder));
    ToolBackend.builder()
        .listen("unix:" + folder.resolve("tools.sock"))
        .tool("send", "Sends", SCHEMA, Letter.class, (letter, context) -> Map.of("sent", letter.to()))
        .build()
        .start();
    Process server =
        new ProcessBuilder(args[0], "serve", "--config", file.toString()).inheritIO().start();
    try (ToolbatchClient client = ToolbatchClient.builder().server("unix:" + folder.resolve("server.sock")).build();
        EventStream events = client.run(Batch.builder("T1").call("send", Map.of("to", "Ada")).build())) {
      for (BatchEvent event : events) {
        if (event instanceof BatchEvent.BatchFinished over && over.summary().status() == BatchStatus.COMPLETED) {
          System.out.println("consumer: " + over.summary().results().get(0).resultJson().orElseThrow());
          return;
        }
      }
      throw new IllegalStateException("the batch did not complete");
    } finally {
      server.destroyForcibly().onExit().join();
    }
  }
}
