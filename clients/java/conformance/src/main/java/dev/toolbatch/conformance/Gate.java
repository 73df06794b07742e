package dev.toolbatch.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where a tool waits until the driver opens it. */
final class Gate {
  private static final long LOOK_MILLIS = 10;

  private Gate() {}

  /** An interruption ends the wait: the call was cancelled. */
  static void await(String path) throws IOException, InterruptedException {
    Files.write(Path.of(path + ".held"), new byte[0]);
    Path gate = Path.of(path);
    while (!Files.exists(gate)) {
      Thread.sleep(LOOK_MILLIS);
    }
  }
}
