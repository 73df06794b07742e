package dev.toolbatch.llm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.toolbatch.ToolDefinition;

/** What definitions of tools have in common. */
final class Definitions {
  private Definitions() {}

  static void name(ObjectNode definition, ToolDefinition tool, String whose, int max) {
    if (!tool.name().matches("[A-Za-z0-9_-]{1," + max + "}")) {
      throw new IllegalArgumentException(
          ("the tool name \"%s\" does not fit: %s takes 1 to %d of A to Z, a to z, 0 to 9, _ and -; give the tool a display name "
                  + "that fits, in the agent's tools")
              .formatted(tool.name(), whose, max));
    }
    definition.put("name", tool.name());
    if (!tool.description().isEmpty()) {
      definition.put("description", tool.description());
    }
  }

  /**
   * The tool's schema as the APIs want it: one of an object, whose type and properties stand there.
   */
  static JsonNode schema(ToolDefinition tool) {
    ObjectNode schema =
        tool.inputSchema() instanceof ObjectNode object
            ? object
            : JsonNodeFactory.instance.objectNode();
    if (!schema.has("type")) {
      schema.put("type", "object");
    }
    if (!schema.has("properties")) {
      schema.putObject("properties");
    }
    return schema;
  }
}
