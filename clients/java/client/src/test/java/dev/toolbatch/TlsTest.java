package dev.toolbatch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.toolbatch.backend.ToolBackend;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Certificates on both sides: client and server, server and backend. */
class TlsTest {
  @TempDir static Path folder;
  private static Certificates ours;
  private static Certificates others;
  private static ToolBackend backend;
  private static TestServer server;

  @BeforeAll
  static void start() throws Exception {
    ours = new Certificates(Files.createDirectory(folder.resolve("ours")));
    others = new Certificates(Files.createDirectory(folder.resolve("others")));
    backend =
        ToolBackend.builder()
            .listen("127.0.0.1:0")
            .tls(ours.certificate(), ours.key())
            .clientAuthority(ours.authority())
            .tool("echo", "Echoes", "{}", RawJson.class, (args, context) -> args)
            .build()
            .start();
    String section =
        """
        addresses = ["https://127.0.0.1:%d"]
        ca = "%s"
        cert = "%s"
        key = "%s"
        """
            .formatted(backend.port(), ours.authority(), ours.certificate(), ours.key());
    String tls =
        """
        [tls]
        cert = "%s"
        key = "%s"
        client_ca = "%s"
        """
            .formatted(ours.certificate(), ours.key(), ours.authority());
    server = TestServer.start(folder, section, tls);
  }

  @AfterAll
  static void stop() {
    server.close();
    backend.close();
  }

  private static ToolbatchClientBuilder builder() {
    return ToolbatchClient.builder()
        .server("https://127.0.0.1:" + server.port())
        .token("")
        .giveUpAfter(Duration.ofMillis(500));
  }

  private static String givenUp(ToolbatchClientBuilder builder) {
    try (ToolbatchClient client = builder.build()) {
      return assertThrows(UnavailableException.class, client::tools).getMessage();
    }
  }

  @Test
  void bothSidesShowCertificates() {
    try (ToolbatchClient client =
        builder()
            .giveUpAfter(Duration.ofSeconds(30))
            .authority(ours.authority())
            .certificate(ours.certificate(), ours.key())
            .build()) {
      BatchSummary summary = client.result(Batch.builder("T").call("echo", Map.of("a", 1)).build());
      assertEquals("{\"a\":1}", summary.results().get(0).resultJson().orElseThrow());
    }
  }

  @Test
  void anAuthorityThatDidNotSignIsNamedAsTheReason() {
    String message =
        givenUp(
            builder().authority(others.authority()).certificate(ours.certificate(), ours.key()));
    assertTrue(message.contains("certificate is not accepted: "), message);
    message = givenUp(builder().certificate(ours.certificate(), ours.key()));
    assertTrue(message.contains("certificate is not accepted: "), message);
  }

  @Test
  void aServerThatAsksForACertificateTurnsOthersAway() {
    givenUp(builder().authority(ours.authority()));
    givenUp(builder().authority(ours.authority()).certificate(others.certificate(), others.key()));
  }

  @Test
  void aBackendThatAsksForACertificateTurnsOthersAway() {
    try (ToolbatchClient client =
        ToolbatchClient.builder()
            .server("https://127.0.0.1:" + backend.port())
            .token("")
            .authority(ours.authority())
            .giveUpAfter(Duration.ofMillis(500))
            .build()) {
      assertThrows(UnavailableException.class, client::tools);
    }
  }

  @Test
  void filesThatAreNoPemAreRefused() throws Exception {
    Path wrong = Files.writeString(folder.resolve("wrong.pem"), "nothing of the kind");
    for (ToolbatchClientBuilder builder :
        new ToolbatchClientBuilder[] {
          builder().authority(wrong),
          builder().certificate(wrong, ours.key()),
          builder().certificate(ours.certificate(), wrong)
        }) {
      var refused = assertThrows(IllegalArgumentException.class, builder::build);
      assertTrue(refused.getMessage().contains("wrong.pem"), refused.getMessage());
    }
    var served = ToolBackend.builder().listen("127.0.0.1:0").tls(ours.certificate(), wrong);
    var refused = assertThrows(IllegalArgumentException.class, served::build);
    assertTrue(refused.getMessage().contains("wrong.pem"), refused.getMessage());
  }
}
