package dev.toolbatch.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.BatchEvent;
import dev.toolbatch.CancelledException;
import dev.toolbatch.DeadlineExceededException;
import dev.toolbatch.EventStream;
import dev.toolbatch.Json;
import dev.toolbatch.RawJson;
import dev.toolbatch.RefusedException;
import dev.toolbatch.Step;
import dev.toolbatch.ToolbatchClient;
import dev.toolbatch.ToolbatchClientBuilder;
import dev.toolbatch.UnavailableException;
import dev.toolbatch.llm.Anthropic;
import dev.toolbatch.llm.OpenAi;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Does what the driver asks, a line at a time. */
final class ClientProgram {
  private static final PrintStream OUT =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

  private final JsonNode request;
  private final ToolbatchClient client;

  private ClientProgram(JsonNode request, ToolbatchClient client) {
    this.request = request;
    this.client = client;
  }

  static void run() throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode request = Json.parse(line);
      try (ToolbatchClient client = client(request)) {
        boolean bounded = request.has("deadline_ms");
        ToolbatchClient within =
            bounded
                ? client.withDeadline(Duration.ofMillis(request.get("deadline_ms").longValue()))
                : client;
        print("end", new ClientProgram(request, within).end());
      }
      // An interruption was for this request alone.
      Thread.interrupted();
    }
  }

  private static ToolbatchClient client(JsonNode request) {
    ToolbatchClientBuilder builder = ToolbatchClient.builder();
    builder.server(request.path("server").textValue());
    if (request.hasNonNull("token")) {
      builder.token(request.get("token").textValue());
    }
    if (request.hasNonNull("ca")) {
      builder.authority(Path.of(request.get("ca").textValue()));
    }
    if (request.hasNonNull("give_up_after_ms")) {
      builder.giveUpAfter(Duration.ofMillis(request.get("give_up_after_ms").longValue()));
    }
    return builder.build();
  }

  private Map<String, ?> end() {
    try {
      return done();
    } catch (RefusedException refused) {
      return Map.of("refused", Shown.refused(refused));
    } catch (UnavailableException unavailable) {
      return Map.of("unavailable", Map.of("message", unavailable.getMessage()));
    } catch (DeadlineExceededException exceeded) {
      return Map.of("deadline_exceeded", true);
    } catch (CancelledException cancelled) {
      return Map.of("cancelled", true);
    }
  }

  private Map<String, ?> done() {
    String what = text("do");
    return switch (what) {
      case "run" -> follow("planned", client.run(Batches.of(request.get("batch"))));
      case "watch" ->
          follow(
              "over", client.watch(text("batch_id"), request.path("after_sequence").longValue()));
      case "result" ->
          Map.of("finished", Shown.summary(client.result(Batches.of(request.get("batch")))));
      case "cancel_batch" ->
          value(
              Shown.summary(
                  client.cancelBatch(
                      text("batch_id"), request.path("abort_running").booleanValue())));
      case "set_variable" ->
          value(client.setVariable(text("task_id"), text("name"), new RawJson(text("value_json"))));
      case "step" -> value(step(client.step(text("step_id"))));
      case "step_result" -> Map.of("raw", client.stepResult(text("step_id")));
      case "usage" -> value(usage());
      case "definitions" ->
          value(isAnthropic() ? Anthropic.definitions(client) : OpenAi.definitions(client));
      case "tool_call" ->
          value(
              isAnthropic()
                  ? Anthropic.toolResult(client, text("task_id"), request.get("call"))
                  : OpenAi.toolMessage(client, text("task_id"), request.get("call")));
      default -> throw new IllegalArgumentException("do: \"" + what + "\" is not known here");
    };
  }

  /** Shows a stream; gives how it ended, which is {@code unfinished} without its last event. */
  private Map<String, ?> follow(String unfinished, EventStream stream) {
    Map<String, ?> end = Map.of(unfinished, true);
    boolean stopped = false;
    try (EventStream events = stream) {
      for (BatchEvent event : events) {
        Map<String, Object> shown = Shown.event(event);
        print("event", shown);
        if (event instanceof BatchEvent.BatchFinished finished) {
          end = Map.of("finished", Shown.summary(finished.summary()));
        } else if (!stopped && stopsAfter(shown)) {
          if (request.path("stop").path("how").asText().equals("leave")) {
            return Map.of("left", true);
          }
          stopped = true;
          Thread.currentThread().interrupt();
        }
      }
    }
    return end;
  }

  private boolean stopsAfter(Map<String, Object> event) {
    JsonNode after = request.path("stop").path("after");
    return after.isObject() && holds(Json.parse(Json.write(event)), after);
  }

  /** Whether all that is wanted is in what there is. */
  private static boolean holds(JsonNode found, JsonNode wanted) {
    if (!wanted.isObject()) {
      return wanted.isNumber() && found.isNumber()
          ? found.decimalValue().compareTo(wanted.decimalValue()) == 0
          : found.equals(wanted);
    }
    return wanted.properties().stream()
        .allMatch(member -> holds(found.path(member.getKey()), member.getValue()));
  }

  private static Map<String, Object> step(Step step) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("args_json", step.argsJson());
    step.resultJson().ifPresent(text -> shown.put("result_json", text));
    shown.put("result_bytes", step.resultBytes());
    shown.put("status", Shown.name(step.status()));
    shown.put("attempts", step.attempts());
    step.error().ifPresent(error -> shown.put("error", Shown.error(error)));
    return shown;
  }

  private List<Map<String, Object>> usage() {
    return client.usage(text("task_id")).stream()
        .map(
            row ->
                Map.<String, Object>of(
                    "tool",
                    row.tool(),
                    "unit",
                    row.unit(),
                    "quantity",
                    row.quantity(),
                    "cost_nanos",
                    Long.toString(row.costNanos()),
                    "currency",
                    row.currency()))
        .toList();
  }

  private boolean isAnthropic() {
    return text("format").equals("anthropic");
  }

  private String text(String member) {
    return request.path(member).asText("");
  }

  private static Map<String, ?> value(Object value) {
    return Map.of("value", value);
  }

  private static void print(String what, Object value) {
    OUT.println(Json.write(Map.of(what, value)));
  }
}
