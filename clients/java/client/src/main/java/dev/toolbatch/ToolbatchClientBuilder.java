package dev.toolbatch;

import io.grpc.Metadata;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Says how a {@link ToolbatchClient} connects. */
public final class ToolbatchClientBuilder {
  /** What an answer may take: a result of 64 MiB, and what is around it. */
  private static final int INBOUND_BYTES = 65 * 1024 * 1024;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> TENANT =
      Metadata.Key.of("toolbatch-tenant", Metadata.ASCII_STRING_MARSHALLER);

  private String server = environment("TOOLBATCH_SERVER").orElse("http://127.0.0.1:50051");
  private String token = environment("TOOLBATCH_TOKEN").orElse("");
  private String tenant = "";
  private Path authority;
  private Path certificate;
  private Path key;
  private Duration giveUpAfter = Duration.ofSeconds(60);

  ToolbatchClientBuilder() {}

  /**
   * Names the server.
   *
   * @param address {@code http://HOST:PORT}, {@code https://HOST:PORT} or {@code unix:/PATH}; left
   *     out, the environment's {@code TOOLBATCH_SERVER}, else {@code http://127.0.0.1:50051}
   * @return this
   */
  public ToolbatchClientBuilder server(String address) {
    server = Objects.requireNonNull(address, "address");
    return this;
  }

  /**
   * Gives the bearer token.
   *
   * @param token as the server's configuration has it; left out, the environment's {@code
   *     TOOLBATCH_TOKEN}, else none. Empty means none
   * @return this
   */
  public ToolbatchClientBuilder token(String token) {
    this.token = Objects.requireNonNull(token, "token");
    return this;
  }

  /**
   * Names the tenant to act in; for operators.
   *
   * @param tenant left out, the server's default
   * @return this
   */
  public ToolbatchClientBuilder tenant(String tenant) {
    this.tenant = Objects.requireNonNull(tenant, "tenant");
    return this;
  }

  /**
   * Trusts a private authority in place of the system's; for {@code https://}.
   *
   * @param pem its certificates, a PEM file
   * @return this
   */
  public ToolbatchClientBuilder authority(Path pem) {
    authority = Objects.requireNonNull(pem, "pem");
    return this;
  }

  /**
   * Shows a certificate to a server that asks for one; for {@code https://}.
   *
   * @param certificatePem the certificate and what leads to its authority, a PEM file
   * @param keyPem its private key in PKCS 8, a PEM file
   * @return this
   */
  public ToolbatchClientBuilder certificate(Path certificatePem, Path keyPem) {
    certificate = Objects.requireNonNull(certificatePem, "certificatePem");
    key = Objects.requireNonNull(keyPem, "keyPem");
    return this;
  }

  /**
   * Bounds how long a batch is followed, or a read repeated, without its server.
   *
   * @param duration how long no stream may be open and no event come, above zero; left out, 60 s
   * @return this
   */
  public ToolbatchClientBuilder giveUpAfter(Duration duration) {
    giveUpAfter = Times.requirePositive(duration, "the time to give up after");
    return this;
  }

  /**
   * Makes the client. It connects with its first request.
   *
   * @return the client, to be closed
   * @throws IllegalArgumentException where the address, the token, the tenant or a PEM file cannot
   *     be used
   */
  public ToolbatchClient build() {
    Metadata headers = new Metadata();
    if (!token.isEmpty()) {
      headers.put(AUTHORIZATION, "Bearer " + printable(token, "the token"));
    }
    if (!tenant.isEmpty()) {
      headers.put(TENANT, printable(tenant, "the tenant"));
    }
    Address address = Address.of(server, new Address.Tls(authority, certificate, key));
    var channel =
        address
            .channel()
            .maxInboundMessageSize(INBOUND_BYTES)
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(20, TimeUnit.SECONDS)
            .disableRetry()
            .build();
    return new ToolbatchClient(
        new Connection(channel, address.release(), server, headers, giveUpAfter), null);
  }

  private static String printable(String text, String what) {
    if (!text.chars().allMatch(unit -> unit > ' ' && unit < 0x7f)) {
      throw new IllegalArgumentException(
          what + " has to be printable ASCII without blanks, and holds something else");
    }
    return text;
  }

  private static Optional<String> environment(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isEmpty());
  }
}
