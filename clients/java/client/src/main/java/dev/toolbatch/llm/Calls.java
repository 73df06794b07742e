package dev.toolbatch.llm;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Call;
import dev.toolbatch.ToolReply;
import dev.toolbatch.ToolbatchClient;
import java.util.Optional;

/** What the calls of models have in common. */
final class Calls {
  private static final int SHOWN_MAX = 60;

  private Calls() {}

  /** What a model reads of a call. */
  record Answer(String content, boolean isError) {}

  static Answer run(ToolbatchClient client, String taskId, Call call) {
    ToolReply reply = client.callTool(taskId, call);
    Optional<ToolReply.Failure> failure = reply.failure();
    if (failure.isPresent()) {
      return new Answer(failure.get().message(), true);
    }
    if (!reply.awaitId().isEmpty()) {
      return new Answer("waits for review " + reply.awaitId(), false);
    }
    if (reply.resultOmitted()) {
      return new Answer(client.stepResult(reply.stepId()), false);
    }
    return new Answer(reply.resultJson().orElse("null"), false);
  }

  /** The id of a call, which becomes its key: without one it could run twice. */
  static String id(JsonNode call) {
    String id = text(call, "id");
    if (id.isEmpty()) {
      throw new IllegalArgumentException("id: expected a string that is not empty");
    }
    return id;
  }

  static String text(JsonNode from, String member) {
    JsonNode text = from.path(member);
    if (!text.isTextual()) {
      throw new IllegalArgumentException(member + ": expected a string, and found " + shown(text));
    }
    return text.textValue();
  }

  static String shown(JsonNode found) {
    String text = found.isMissingNode() ? "nothing" : found.toString();
    return text.length() > SHOWN_MAX ? text.substring(0, SHOWN_MAX) + "…" : text;
  }
}
