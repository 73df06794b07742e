package dev.toolbatch;

import dev.toolbatch.v1.ToolCall;
import java.util.Objects;

/**
 * One call of a batch.
 *
 * @param tool as it appears in the agent's tool list, 1 to 256 bytes
 * @param argsJson the arguments, a JSON object as text; it reaches the tool byte for byte, and
 *     empty means {@code {}}
 * @param key stable identity in the task, at most 512 bytes: a call with a key runs at most once;
 *     empty means none
 */
public record Call(String tool, String argsJson, String key) {
  /**
   * Takes a call's parts.
   *
   * @param tool as it appears in the agent's tool list
   * @param argsJson a JSON object as text; empty means {@code {}}
   * @param key stable identity in the task; empty means none
   * @throws IllegalArgumentException where one holds half a surrogate pair
   */
  public Call {
    Json.requireUnicode(Objects.requireNonNull(tool, "tool"), "the tool's name");
    Json.requireUnicode(Objects.requireNonNull(argsJson, "argsJson"), "the args of " + tool);
    Json.requireUnicode(Objects.requireNonNull(key, "key"), "the key of " + tool);
  }

  /**
   * A call without arguments.
   *
   * @param tool as it appears in the agent's tool list
   * @return the call, without a key
   */
  public static Call of(String tool) {
    return new Call(tool, "", "");
  }

  /**
   * A call with arguments.
   *
   * @param tool as it appears in the agent's tool list
   * @param args a map, a record, a JsonNode or whatever else is written as a JSON object; or a
   *     {@link RawJson}
   * @return the call, without a key
   * @throws IllegalArgumentException where the arguments cannot be written as JSON, or are no
   *     object
   */
  public static Call of(String tool, Object args) {
    return new Call(tool, argsText(tool, args), "");
  }

  /**
   * The same call under a key.
   *
   * @param key stable identity in the task
   * @return the call with it
   */
  public Call withKey(String key) {
    return new Call(tool, argsJson, key);
  }

  static String argsText(String tool, Object args) {
    if (args instanceof RawJson raw) {
      return raw.text();
    }
    String text = Json.write(args);
    if (!text.startsWith("{")) {
      String shown = text.length() > 60 ? text.substring(0, 60) + "…" : text;
      throw new IllegalArgumentException(
          "the args of %s have to be a JSON object, but are %s; JSON text is given as a RawJson"
              .formatted(tool, shown));
    }
    return text;
  }

  ToolCall toProto() {
    return ToolCall.newBuilder().setTool(tool).setArgsJson(argsJson).setKey(key).build();
  }
}
