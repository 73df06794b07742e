package dev.toolbatch.backend;

import dev.toolbatch.Json;
import dev.toolbatch.v1.CallToolResponse;
import dev.toolbatch.v1.ToolAwaiting;
import java.util.concurrent.Future;

/** From what functions return and throw to the contract's outcomes. */
final class Outcomes {
  private Outcomes() {}

  static CallToolResponse.Builder of(Object result) {
    CallToolResponse.Builder response = CallToolResponse.newBuilder();
    if (result instanceof Awaiting awaiting) {
      return response.setAwaiting(
          ToolAwaiting.newBuilder()
              .setAwaitId(awaiting.awaitId())
              .setResultJson(Json.write(awaiting.soFar())));
    }
    if (result instanceof Future) {
      throw new IllegalArgumentException(
          "the function returned a %s: it has to wait for it, and return what it gives"
              .formatted(result.getClass().getSimpleName()));
    }
    return response.setResultJson(Json.write(result));
  }

  static CallToolResponse.Builder of(ToolFailure failure) {
    return CallToolResponse.newBuilder().setFailure(failure.toProto());
  }
}
