package dev.toolbatch.examples;

import com.fasterxml.jackson.databind.JsonNode;
import dev.toolbatch.Json;
import dev.toolbatch.ToolbatchClient;
import dev.toolbatch.llm.Anthropic;

/**
 * One turn of a conversation: a model's tool use is run, and answered. Here the model's part is
 * written down.
 */
public final class ModelTurn {
  private static final String TOOL_USE =
      """
      {"type":"tool_use","id":"toolu_01","name":"execute_tool_batch","input":{"calls":[
        {"tool":"post_order","key":"o-1","args":{"contract":"40040343"}},
        {"tool":"post_order","key":"o-2","args":{"contract":"40040343","quantity":2}}]}}""";

  private ModelTurn() {}

  /**
   * Plays it with the server that TOOLBATCH_SERVER names, or 127.0.0.1:50051.
   *
   * @param args none
   */
  public static void main(String[] args) {
    try (ToolbatchClient client = ToolbatchClient.builder().build()) {
      System.out.println("the model is told of " + Anthropic.definitions(client).size() + " tools");
      JsonNode answer = Anthropic.toolResult(client, "T1", Json.parse(TOOL_USE));
      System.out.println(answer.get("type").asText() + ": " + answer.get("content").asText());
    }
  }
}
