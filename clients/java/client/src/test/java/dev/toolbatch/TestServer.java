package dev.toolbatch;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The real server, on a free port and a store of its own. */
public final class TestServer implements AutoCloseable {
  private static final long START_SECONDS = 30;

  private final Path folder;
  private final Path config;
  private final int port;
  private Process process;

  private TestServer(Path folder, Path config, int port) {
    this.folder = folder;
    this.config = config;
    this.port = port;
  }

  /** Starts one that calls the backend at this port; {@code more} is added to its configuration. */
  public static TestServer start(Path folder, int backendPort, String more) throws Exception {
    return start(folder, "addresses = [\"http://127.0.0.1:%d\"]".formatted(backendPort), more);
  }

  /** Starts one that calls the backend whose section is this. */
  static TestServer start(Path folder, String backend, String more) throws Exception {
    int port = freePort();
    Path config = folder.resolve("toolbatch.toml");
    String text =
        """
        listen = "127.0.0.1:%d"
        data_dir = "%s"
        %s
        [[backends]]
        name = "tools"
        %s
        """
            .formatted(port, folder.resolve("data"), more, backend);
    Files.writeString(config, text);
    TestServer server = new TestServer(folder, config, port);
    server.start();
    return server;
  }

  public static int freePort() throws IOException {
    try (ServerSocket free = new ServerSocket(0)) {
      return free.getLocalPort();
    }
  }

  public String address() {
    return "http://127.0.0.1:" + port;
  }

  public int port() {
    return port;
  }

  public ToolbatchClient client() {
    return ToolbatchClient.builder().server(address()).token("").build();
  }

  public void start() throws Exception {
    process =
        new ProcessBuilder(binary().toString(), "serve", "--config", config.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("server.log").toFile()))
            .start();
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (!listens()) {
      if (!process.isAlive() || System.nanoTime() > until) {
        throw new IllegalStateException(
            "the server did not start:\n" + Files.readString(folder.resolve("server.log")));
      }
      Thread.sleep(10);
    }
  }

  /** As a supervisor would end it. */
  CompletableFuture<Process> terminate() {
    process.destroy();
    return process.onExit();
  }

  /** As a crash would end it. */
  public void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    kill();
  }

  private boolean listens() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress("127.0.0.1", port));
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  private static Path binary() {
    String named = System.getenv("TOOLBATCH_BIN");
    Path found =
        named == null
            ? Path.of(System.getProperty("toolbatch.root"), "target", "debug", "toolbatch")
            : Path.of(named);
    if (!Files.isExecutable(found)) {
      throw new IllegalStateException(
          "there is no server at " + found + ": run cargo build, or name one in TOOLBATCH_BIN");
    }
    return found;
  }
}
