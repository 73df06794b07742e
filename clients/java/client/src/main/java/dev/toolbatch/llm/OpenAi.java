package dev.toolbatch.llm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.toolbatch.Call;
import dev.toolbatch.RawJson;
import dev.toolbatch.ToolDefinition;
import dev.toolbatch.ToolbatchClient;

/** Tools and their calls as OpenAI's chat completions have them. */
public final class OpenAi {
  private static final int NAME_MAX = 64;

  private OpenAi() {}

  /**
   * The tools that the caller can use, for a request's {@code tools}.
   *
   * @param client asks its server
   * @return an array of {@code {type: "function", function: {name, description, parameters}}}
   * @throws IllegalArgumentException where the API does not take a tool's name
   */
  public static ArrayNode definitions(ToolbatchClient client) {
    ArrayNode definitions = JsonNodeFactory.instance.arrayNode();
    for (ToolDefinition tool : client.tools()) {
      ObjectNode function = definitions.addObject().put("type", "function").putObject("function");
      Definitions.name(function, tool, "OpenAI", NAME_MAX);
      function.set("parameters", Definitions.schema(tool));
    }
    return definitions;
  }

  /**
   * Runs the call that a model asks for, under the entry's id as its key: done again after a lost
   * answer, it finds what it began. A failure of the tool is an answer too.
   *
   * @param client runs it
   * @param taskId the task that it belongs to
   * @param toolCall an entry of {@code tool_calls}, of type {@code function}
   * @return the message of role {@code tool} that answers it
   * @throws IllegalArgumentException where the entry is no call of a function
   */
  public static ObjectNode toolMessage(ToolbatchClient client, String taskId, JsonNode toolCall) {
    JsonNode function = toolCall.path("function");
    if (!function.isObject()) {
      throw new IllegalArgumentException(
          "function: expected an object, and found " + Calls.shown(function));
    }
    String id = Calls.id(toolCall);
    Call call =
        Call.of(Calls.text(function, "name"), new RawJson(Calls.text(function, "arguments")))
            .withKey(id);
    ObjectNode message = JsonNodeFactory.instance.objectNode();
    message.put("role", "tool").put("tool_call_id", id);
    return message.put("content", Calls.run(client, taskId, call).content());
  }
}
