package dev.toolbatch.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Batch;
import dev.toolbatch.BatchMode;
import dev.toolbatch.Call;
import dev.toolbatch.InDoubtPolicy;
import dev.toolbatch.RawJson;
import dev.toolbatch.RetryPolicy;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Consumer;

/** From the suite's batches to the library's. */
final class Batches {
  private Batches() {}

  static Batch of(JsonNode from) {
    Batch.Builder batch = Batch.builder(from.path("task_id").asText());
    given(from, "batch_id", value -> batch.batchId(value.textValue()));
    given(from, "agent_id", value -> batch.agentId(value.textValue()));
    given(from, "calls", calls -> calls.forEach(call -> batch.call(call(call))));
    given(from, "calls_ref", value -> batch.callsRef(value.textValue()));
    given(from, "mode", value -> batch.mode(BatchMode.valueOf(upper(value))));
    given(from, "max_concurrency", value -> batch.maxConcurrency(value.intValue()));
    given(from, "serialize_on", value -> batch.serializeOn(value.textValue()));
    given(from, "stop_on_error", value -> batch.stopOnError(value.booleanValue()));
    given(from, "include_results", value -> batch.includeResults(value.booleanValue()));
    given(
        from, "call_timeout_ms", value -> batch.callTimeout(Duration.ofMillis(value.longValue())));
    given(from, "retry", value -> batch.retry(retry(value)));
    given(from, "in_doubt", value -> batch.inDoubt(InDoubtPolicy.valueOf(upper(value))));
    if (from.path("validate_only").booleanValue()) {
      batch.validateOnly();
    }
    return batch.build();
  }

  private static Call call(JsonNode from) {
    String tool = from.path("tool").asText();
    Call call;
    if (from.has("args_json")) {
      call = Call.of(tool, new RawJson(from.get("args_json").textValue()));
    } else if (from.has("args")) {
      call = Call.of(tool, from.get("args"));
    } else {
      call = Call.of(tool);
    }
    return from.has("key") ? call.withKey(from.get("key").textValue()) : call;
  }

  private static RetryPolicy retry(JsonNode from) {
    return new RetryPolicy(
        from.path("max_attempts").intValue(),
        millis(from.path("initial_backoff_ms")),
        millis(from.path("max_backoff_ms")),
        from.path("backoff_multiplier").doubleValue());
  }

  private static Duration millis(JsonNode value) {
    return value.isNumber() ? Duration.ofMillis(value.longValue()) : null;
  }

  private static void given(JsonNode from, String member, Consumer<JsonNode> set) {
    if (from.hasNonNull(member)) {
      set.accept(from.get(member));
    }
  }

  private static String upper(JsonNode value) {
    return value.textValue().toUpperCase(Locale.ROOT);
  }
}
