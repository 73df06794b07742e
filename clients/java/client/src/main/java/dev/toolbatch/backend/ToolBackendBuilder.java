package dev.toolbatch.backend;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;

/** Says what a {@link ToolBackend} serves, and where. */
public final class ToolBackendBuilder {
  /** Longer than any call, and short enough to count in nanoseconds. */
  private static final Duration GRACE_MAX = Duration.ofDays(10_000);

  private final Map<String, Tool<?>> tools = new LinkedHashMap<>();
  private String address = "127.0.0.1:7001";
  private Duration grace = Duration.ofSeconds(30);
  private ExecutorService executor;
  private Path certificate;
  private Path key;
  private Path clientAuthority;

  ToolBackendBuilder() {}

  /**
   * Adds a tool.
   *
   * @param tool a declared one
   * @return this
   * @throws IllegalArgumentException where there is one of its name
   */
  public ToolBackendBuilder tool(Tool<?> tool) {
    if (tools.putIfAbsent(tool.name(), tool) != null) {
      throw new IllegalArgumentException("there are two tools of the name \"" + tool.name() + "\"");
    }
    return this;
  }

  /**
   * Adds a tool.
   *
   * @param <A> the type of its arguments
   * @param name 1 to 256 printable ASCII characters
   * @param description for models and people
   * @param schema a JSON Schema of the arguments, as text
   * @param type a record or class that Jackson makes from the arguments, {@link
   *     com.fasterxml.jackson.databind.JsonNode} for any, or {@link dev.toolbatch.RawJson} for
   *     their text
   * @param function what the tool does
   * @return this
   * @throws IllegalArgumentException where the name or the schema cannot be used, or there is a
   *     tool of the name
   */
  public <A> ToolBackendBuilder tool(
      String name, String description, String schema, Class<A> type, ToolFunction<A> function) {
    return tool(Tool.builder(name, type, function).description(description).schema(schema).build());
  }

  /**
   * Says where to listen.
   *
   * @param address {@code HOST:PORT} ({@code [::1]:7001} for IPv6; port 0 takes a free one) or
   *     {@code unix:/PATH}; left out, {@code 127.0.0.1:7001}
   * @return this
   */
  public ToolBackendBuilder listen(String address) {
    this.address = Objects.requireNonNull(address, "address");
    return this;
  }

  /**
   * Bounds how long running calls may finish once the backend stops.
   *
   * @param duration not below zero; left out, 30 s
   * @return this
   * @throws IllegalArgumentException where it is below zero
   */
  public ToolBackendBuilder grace(Duration duration) {
    if (duration.isNegative()) {
      throw new IllegalArgumentException(
          "the grace period has to be 0 or above, but is " + duration);
    }
    grace = duration.compareTo(GRACE_MAX) > 0 ? GRACE_MAX : duration;
    return this;
  }

  /**
   * Runs functions elsewhere than on a thread for each running call.
   *
   * @param executor such as one of virtual threads; the backend does not shut it down. A call that
   *     it rejects has not run
   * @return this
   */
  public ToolBackendBuilder executor(ExecutorService executor) {
    this.executor = Objects.requireNonNull(executor, "executor");
    return this;
  }

  /**
   * Encrypts what is said.
   *
   * @param certificatePem the certificate and what leads to its authority, a PEM file
   * @param keyPem its private key in PKCS 8, a PEM file
   * @return this
   */
  public ToolBackendBuilder tls(Path certificatePem, Path keyPem) {
    certificate = Objects.requireNonNull(certificatePem, "certificatePem");
    key = Objects.requireNonNull(keyPem, "keyPem");
    return this;
  }

  /**
   * Asks who calls for a certificate; with {@link #tls(Path, Path)}.
   *
   * @param pem the authorities that sign those, a PEM file
   * @return this
   */
  public ToolBackendBuilder clientAuthority(Path pem) {
    clientAuthority = Objects.requireNonNull(pem, "pem");
    return this;
  }

  /**
   * Makes the backend.
   *
   * @return it, not started
   * @throws IllegalArgumentException where the address or a PEM file cannot be used
   */
  public ToolBackend build() {
    if (certificate == null && clientAuthority != null) {
      throw new IllegalArgumentException(
          "clients can be asked for certificates where there is TLS alone: give tls(…) too");
    }
    Listener.Tls tls =
        certificate == null ? null : new Listener.Tls(certificate, key, clientAuthority);
    return new ToolBackend(new LinkedHashMap<>(tools), Listener.at(address, tls), grace, executor);
  }
}
