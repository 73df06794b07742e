package dev.toolbatch.llm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.toolbatch.Call;
import dev.toolbatch.ToolDefinition;
import dev.toolbatch.ToolbatchClient;

/** Tools and their calls as Anthropic's Messages API has them. */
public final class Anthropic {
  private static final int NAME_MAX = 128;

  private Anthropic() {}

  /**
   * The tools that the caller can use, for a request's {@code tools}.
   *
   * @param client asks its server
   * @return an array of {@code {name, description, input_schema}}
   * @throws IllegalArgumentException where the API does not take a tool's name
   */
  public static ArrayNode definitions(ToolbatchClient client) {
    ArrayNode definitions = JsonNodeFactory.instance.arrayNode();
    for (ToolDefinition tool : client.tools()) {
      ObjectNode definition = definitions.addObject();
      Definitions.name(definition, tool, "Anthropic", NAME_MAX);
      definition.set("input_schema", Definitions.schema(tool));
    }
    return definitions;
  }

  /**
   * Runs the call that a model asks for, under the block's id as its key: done again after a lost
   * answer, it finds what it began. A failure of the tool is an answer too.
   *
   * @param client runs it
   * @param taskId the task that it belongs to
   * @param toolUse a block of type {@code tool_use}
   * @return the block of type {@code tool_result} that answers it
   * @throws IllegalArgumentException where the block is no tool use
   */
  public static ObjectNode toolResult(ToolbatchClient client, String taskId, JsonNode toolUse) {
    if (!"tool_use".equals(toolUse.path("type").asText())) {
      throw new IllegalArgumentException(
          "expected a block of type tool_use, and found type " + toolUse.path("type"));
    }
    String id = Calls.id(toolUse);
    JsonNode input = toolUse.path("input");
    if (!input.isObject()) {
      throw new IllegalArgumentException(
          "input: expected an object, and found " + Calls.shown(input));
    }
    Calls.Answer answer =
        Calls.run(client, taskId, Call.of(Calls.text(toolUse, "name"), input).withKey(id));
    ObjectNode result = JsonNodeFactory.instance.objectNode();
    result.put("type", "tool_result").put("tool_use_id", id).put("content", answer.content());
    if (answer.isError()) {
      result.put("is_error", true);
    }
    return result;
  }
}
