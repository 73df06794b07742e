package dev.toolbatch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.toolbatch.TestServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples, as programs of their own. */
class ExamplesTest {
  private static final long SECONDS = 30;

  @TempDir Path folder;

  @Test
  void aBatchIsGreetedAndNothingRunsTwice() throws Exception {
    int port = TestServer.freePort();
    Process greeter = backend(Greeter.class, port);
    try (TestServer server = TestServer.start(folder, port, "")) {
      String first = output(FirstBatch.class, server);
      assertTrue(first.contains("ada: COMPLETED {\"greeting\":\"Hello, Ada\"}"), first);
      assertTrue(first.endsWith("batch: COMPLETED\n"), first);
      String second = output(FirstBatch.class, server);
      assertTrue(second.contains("grace: SKIPPED"), second);
    } finally {
      assertEquals(0, ended(greeter), "the code of a backend that SIGTERM stopped");
    }
  }

  @Test
  void aModelsTurnPostsItsOrders() throws Exception {
    int port = TestServer.freePort();
    Process tools = backend(OrderTools.class, port);
    try (TestServer server = TestServer.start(folder, port, "")) {
      String turn = output(ModelTurn.class, server);
      assertTrue(turn.contains("the model is told of 3 tools"), turn);
      assertTrue(turn.contains("\"succeeded\":2"), turn);
      assertEquals(turn, output(ModelTurn.class, server));
    } finally {
      assertEquals(0, ended(tools), "the code of a backend that SIGTERM stopped");
    }
  }

  private static Process backend(Class<?> example, int port) throws Exception {
    Process process = java(example, "127.0.0.1:" + port).redirectErrorStream(true).start();
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (!listens(port)) {
      if (!process.isAlive() || System.nanoTime() > until) {
        throw new IllegalStateException("the backend did not start: " + text(process));
      }
      Thread.sleep(10);
    }
    return process;
  }

  private static String output(Class<?> example, TestServer server) throws Exception {
    ProcessBuilder program = java(example).redirectErrorStream(true);
    program.environment().put("TOOLBATCH_SERVER", server.address());
    Process process = program.start();
    String text = text(process);
    assertEquals(0, process.waitFor(), text);
    return text;
  }

  private static String text(Process process) throws IOException {
    return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  private static int ended(Process process) throws InterruptedException {
    process.destroy();
    if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    return process.waitFor();
  }

  private static ProcessBuilder java(Class<?> example, String... args) {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> command =
        new ArrayList<>(
            List.of(java, "-cp", System.getProperty("java.class.path"), example.getName()));
    command.addAll(List.of(args));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().remove("TOOLBATCH_TOKEN");
    return builder;
  }

  private static boolean listens(int port) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", port));
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }
}
