package dev.toolbatch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;

/**
 * A tool that can be called.
 *
 * @param name as calls name it
 * @param description for models and people
 * @param inputSchemaJson JSON Schema of the arguments, as text; empty means any object
 * @param pauses whether it can wait for a person or another agent, so that no batch may call it
 */
public record ToolDefinition(
    String name, String description, String inputSchemaJson, boolean pauses) {
  static ToolDefinition of(dev.toolbatch.v1.Tool tool) {
    return new ToolDefinition(
        tool.getName(), tool.getDescription(), tool.getInputSchemaJson(), tool.getPauses());
  }

  /**
   * The schema's value.
   *
   * @return an empty object where there is no schema
   * @throws IllegalArgumentException where the text is no JSON
   */
  public JsonNode inputSchema() {
    return inputSchemaJson.isBlank()
        ? JsonNodeFactory.instance.objectNode()
        : Json.parse(inputSchemaJson);
  }
}
