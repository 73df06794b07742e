package dev.toolbatch.conformance;

import dev.toolbatch.BatchEvent;
import dev.toolbatch.BatchOptions;
import dev.toolbatch.BatchSummary;
import dev.toolbatch.CallError;
import dev.toolbatch.CallResult;
import dev.toolbatch.PlannedCall;
import dev.toolbatch.RefusedException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The library's values in the suite's normal form. */
final class Shown {
  private Shown() {}

  static Map<String, Object> event(BatchEvent event) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("kind", kind(event));
    shown.put("batch_id", event.batchId());
    shown.put("sequence", event.sequence());
    if (event instanceof BatchEvent.BatchPlanned planned) {
      shown.put("calls", planned.calls().stream().map(Shown::planned).toList());
    } else if (event instanceof BatchEvent.BatchStarted started) {
      shown.put("task_id", started.taskId());
      shown.put("agent_id", started.agentId());
      shown.put("total", started.total());
      shown.put("options", options(started.options()));
    } else if (event instanceof BatchEvent.CallStarted started) {
      shown.put("index", started.index());
      shown.put("tool", started.tool());
      shown.put("key", started.key());
      shown.put("step_id", started.stepId());
      shown.put("attempt", started.attempt());
    } else if (event instanceof BatchEvent.CallRetrying retrying) {
      shown.put("index", retrying.index());
      shown.put("step_id", retrying.stepId());
      shown.put("attempt", retrying.attempt());
      shown.put("error", error(retrying.error()));
    } else if (event instanceof BatchEvent.CallProgress told) {
      shown.put("index", told.index());
      shown.put("step_id", told.stepId());
      shown.put("progress", told.progress());
      shown.put("total", told.total());
      shown.put("message", told.message());
    } else if (event instanceof BatchEvent.CallFinished finished) {
      shown.put("result", result(finished.result()));
    } else if (event instanceof BatchEvent.BatchResumed resumed) {
      shown.put("in_doubt", resumed.inDoubt());
    } else if (event instanceof BatchEvent.BatchFinished finished) {
      shown.put("summary", summary(finished.summary()));
    }
    return shown;
  }

  private static String kind(BatchEvent event) {
    return event
        .getClass()
        .getSimpleName()
        .replaceAll("(?<=[a-z])(?=[A-Z])", "_")
        .toLowerCase(Locale.ROOT);
  }

  private static Map<String, Object> planned(PlannedCall call) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("index", call.index());
    shown.put("tool", call.tool());
    shown.put("base_tool", call.baseTool());
    shown.put("backend", call.backend());
    shown.put("key", call.key());
    shown.put("lane", call.lane());
    shown.put("skipped_step_id", call.skippedStepId());
    call.error().ifPresent(error -> shown.put("error", error(error)));
    return shown;
  }

  private static Map<String, Object> options(BatchOptions options) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("mode", name(options.mode()));
    shown.put("max_concurrency", options.maxConcurrency());
    shown.put("serialize_on", options.serializeOn());
    shown.put("stop_on_error", options.stopOnError());
    shown.put("include_results", options.includeResults());
    shown.put("in_doubt", name(options.inDoubt()));
    return shown;
  }

  static Map<String, Object> summary(BatchSummary summary) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("status", name(summary.status()));
    shown.put("total", summary.total());
    shown.put("succeeded", summary.succeeded());
    shown.put("failed", summary.failed());
    shown.put("skipped", summary.skipped());
    shown.put("awaiting", summary.awaiting());
    shown.put("not_run", summary.notRun());
    shown.put("stop_reason", name(summary.stopReason()));
    shown.put("results", summary.results().stream().map(Shown::result).toList());
    return shown;
  }

  private static Map<String, Object> result(CallResult result) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("index", result.index());
    shown.put("tool", result.tool());
    shown.put("key", result.key());
    shown.put("status", name(result.status()));
    shown.put("step_id", result.stepId());
    result.resultJson().ifPresent(text -> shown.put("result_json", text));
    result.value().ifPresent(value -> shown.put("value", value));
    shown.put("result_omitted", result.resultOmitted());
    result.error().ifPresent(error -> shown.put("error", error(error)));
    shown.put("await_id", result.awaitId());
    shown.put("attempts", result.attempts());
    shown.put("args_changed", result.argsChanged());
    return shown;
  }

  static Map<String, Object> error(CallError error) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("reason", name(error.reason()));
    shown.put("message", error.message());
    shown.put("outcome_unknown", error.outcomeUnknown());
    shown.put("retryable", error.retryable());
    shown.put("code", error.code());
    return shown;
  }

  static Map<String, Object> refused(RefusedException refused) {
    List<Map<String, String>> violations =
        refused.violations().stream()
            .map(found -> Map.of("field", found.field(), "description", found.description()))
            .toList();
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("status", refused.status().name());
    shown.put("reason", refused.reason());
    shown.put("message", refused.getMessage());
    shown.put("violations", violations);
    return shown;
  }

  static String name(Enum<?> value) {
    return value.name().equals("UNSPECIFIED") ? "" : value.name().toLowerCase(Locale.ROOT);
  }
}
