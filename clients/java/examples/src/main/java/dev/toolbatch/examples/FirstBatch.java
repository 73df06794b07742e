package dev.toolbatch.examples;

import dev.toolbatch.Batch;
import dev.toolbatch.BatchEvent;
import dev.toolbatch.BatchMode;
import dev.toolbatch.Call;
import dev.toolbatch.EventStream;
import dev.toolbatch.ToolbatchClient;
import java.util.Map;

/** Runs a batch, and shows each call as it lands. Run again, it runs nothing twice. */
public final class FirstBatch {
  private FirstBatch() {}

  /**
   * Runs it on the server that TOOLBATCH_SERVER names, or on 127.0.0.1:50051.
   *
   * @param args none
   */
  public static void main(String[] args) {
    Batch batch =
        Batch.builder("T1")
            .mode(BatchMode.PARALLEL)
            .call(Call.of("greet", Map.of("name", "Ada")).withKey("ada"))
            .call(Call.of("greet", Map.of("name", "Grace")).withKey("grace"))
            .build();
    try (ToolbatchClient client = ToolbatchClient.builder().build();
        EventStream events = client.run(batch)) {
      for (BatchEvent event : events) {
        if (event instanceof BatchEvent.CallFinished call) {
          System.out.println(
              call.result().key()
                  + ": "
                  + call.result().status()
                  + " "
                  + call.result().resultJson().orElse(""));
        } else if (event instanceof BatchEvent.BatchFinished over) {
          System.out.println("batch: " + over.summary().status());
        }
      }
    }
  }
}
