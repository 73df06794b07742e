package dev.toolbatch.llm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Json;
import dev.toolbatch.RawJson;
import dev.toolbatch.TestServer;
import dev.toolbatch.ToolbatchClient;
import dev.toolbatch.backend.Awaiting;
import dev.toolbatch.backend.Tool;
import dev.toolbatch.backend.ToolBackend;
import dev.toolbatch.backend.ToolFailure;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LlmTest {
  private static final AtomicInteger RUNS = new AtomicInteger();

  @TempDir static Path folder;
  private static ToolBackend backend;
  private static TestServer server;
  private static ToolbatchClient client;

  @BeforeAll
  static void start() throws Exception {
    backend =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .tool(
                "echo",
                "Echoes",
                "{\"type\":\"object\"}",
                RawJson.class,
                (args, context) -> ran(args))
            .tool(Tool.builder("fail", JsonNode.class, (args, context) -> fail()).build())
            .tool(
                Tool.builder("large", JsonNode.class, (args, context) -> "x".repeat(4_000_000))
                    .build())
            .tool(
                Tool.builder(
                        "review",
                        JsonNode.class,
                        (args, context) -> new Awaiting("r", Map.of("a", 1)))
                    .build())
            .build()
            .start();
    server = TestServer.start(folder, backend.port(), "");
    client = server.client();
  }

  @AfterAll
  static void stop() throws Exception {
    client.close();
    server.close();
    backend.close();
  }

  private static Object ran(RawJson args) {
    RUNS.incrementAndGet();
    return args;
  }

  private static Object fail() {
    throw new ToolFailure("locked");
  }

  private static JsonNode anthropic(String id, String name, String input) {
    JsonNode block =
        Json.parse(
            "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\",\"input\":%s}"
                .formatted(id, name, input));
    return Anthropic.toolResult(client, "T", block);
  }

  @Test
  void definitionsHaveTheirShapes() {
    JsonNode first = Anthropic.definitions(client).get(0);
    assertEquals(
        "{\"name\":\"echo\",\"description\":\"Echoes\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}}",
        first.toString());
    JsonNode second = OpenAi.definitions(client).get(1);
    assertEquals(
        "{\"type\":\"function\",\"function\":{\"name\":\"fail\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}",
        second.toString());
  }

  @Test
  void aToolUseIsAnsweredOnce() {
    int before = RUNS.get();
    JsonNode answer = anthropic("u1", "echo", "{\"n\":1.10}");
    assertEquals(
        "{\"type\":\"tool_result\",\"tool_use_id\":\"u1\",\"content\":\"{\\\"n\\\":1.10}\"}",
        Json.write(answer));
    assertEquals(answer, anthropic("u1", "echo", "{\"n\":1.10}"));
    assertEquals(before + 1, RUNS.get());
  }

  @Test
  void failuresAndReviewsAreAnswers() {
    JsonNode failed = anthropic("u2", "fail", "{}");
    assertEquals("locked", failed.get("content").textValue());
    assertEquals(true, failed.get("is_error").booleanValue());
    assertEquals("waits for review r", anthropic("u3", "review", "{}").get("content").textValue());
    assertEquals(4_000_002, anthropic("u4", "large", "{}").get("content").textValue().length());
  }

  @Test
  void aToolCallIsAnsweredWithAMessage() {
    JsonNode call =
        Json.parse(
            """
            {"id":"c1","type":"function","function":{"name":"echo","arguments":"{ \\"n\\" : 1.10 }"}}""");
    assertEquals(
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{ \\\"n\\\" : 1.10 }\"}",
        Json.write(OpenAi.toolMessage(client, "T", call)));
  }

  @Test
  void whatIsNoCallIsRefused() {
    for (String block :
        new String[] {
          "{}",
          "[]",
          "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\",\"input\":\"{}\"}",
          "{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"echo\",\"input\":{}}",
          "{\"id\":\"\",\"type\":\"function\",\"function\":{\"name\":\"echo\",\"arguments\":\"{}\"}}"
        }) {
      assertThrows(
          IllegalArgumentException.class,
          () -> Anthropic.toolResult(client, "T", Json.parse(block)));
      assertThrows(
          IllegalArgumentException.class, () -> OpenAi.toolMessage(client, "T", Json.parse(block)));
    }
  }
}
