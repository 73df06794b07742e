package dev.toolbatch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.toolbatch.TestServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
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

  @Test
  void whatTheReadmeShowsRuns() throws Exception {
    List<String> blocks = blocks();
    int port = TestServer.freePort();
    Process tools = backend(program("Tools", blocks.get(1), "127.0.0.1:7001", port), port);
    try (TestServer server = TestServer.start(folder, port, "")) {
      Path first = program("First", blocks.get(0), "127.0.0.1:50051", server.port());
      String output = output(first.toString(), server);
      assertTrue(output.contains("ada: {\"greeting\":\"Hello, Ada\"}"), output);
      assertTrue(output.contains("grace: {\"greeting\":\"Hello, Grace\"}"), output);
    } finally {
      assertEquals(0, ended(tools), "the code of a backend that SIGTERM stopped");
    }
    assertTrue(blocks.get(0).lines().count() < 20, "a first batch is short");
    assertTrue(blocks.get(1).lines().count() <= 10, "a backend is shorter");
  }

  /** The Java of the README. */
  private static List<String> blocks() throws IOException {
    Path readme = Path.of(System.getProperty("toolbatch.root"), "clients", "java", "README.md");
    return Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
        .matcher(Files.readString(readme))
        .results()
        .map(found -> found.group(1))
        .toList();
  }

  /** A source file of these statements, for Java's launcher; the port takes the address' place. */
  private Path program(String name, String statements, String address, int port)
      throws IOException {
    assertTrue(statements.contains(address), statements);
    String program =
        """
        import dev.toolbatch.*;
        import dev.toolbatch.backend.*;
        import java.util.*;

        class %s {
          public static void main(String[] args) throws Exception {
            %s
          }
        }
        """;
    String text = statements.replace(address, "127.0.0.1:" + port);
    return Files.writeString(folder.resolve(name + ".java"), program.formatted(name, text));
  }

  private static Process backend(Class<?> example, int port) throws Exception {
    return started(java(example.getName(), "127.0.0.1:" + port), port);
  }

  private static Process backend(Path source, int port) throws Exception {
    return started(java(source.toString()), port);
  }

  private static Process started(ProcessBuilder backend, int port) throws Exception {
    Process process = backend.redirectErrorStream(true).start();
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
    return output(example.getName(), server);
  }

  private static String output(String main, TestServer server) throws Exception {
    ProcessBuilder program = java(main).redirectErrorStream(true);
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

  /** {@code main} is a class or a source file. */
  private static ProcessBuilder java(String main, String... args) {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> command =
        new ArrayList<>(List.of(java, "-cp", System.getProperty("java.class.path"), main));
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
