package dev.toolbatch;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.io.File;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/** Where a server is, and how it is reached. */
record Address(NettyChannelBuilder channel, Runnable release) {
  private static final String UNIX = "unix:";
  private static final int PORT_MAX = 65535;

  /** What an address of the kernel has room for. */
  private static final int PATH_MAX = 107;

  /** What TLS needs beyond the system's authorities; null where it is not given. */
  record Tls(Path authority, Path certificate, Path key) {
    boolean isSet() {
      return authority != null || certificate != null;
    }
  }

  static Address of(String server, Tls tls) {
    if (server.startsWith(UNIX)) {
      return unix(server, tls);
    }
    URI uri;
    try {
      uri = new URI(server);
    } catch (URISyntaxException wrong) {
      throw unusable(server, wrong.getReason());
    }
    if (uri.getHost() == null) {
      throw unusable(server, "it names no host of letters, digits, hyphens and dots");
    }
    if (uri.getUserInfo() != null
        || uri.getQuery() != null
        || uri.getFragment() != null
        || uri.getPath().length() > 1) {
      throw unusable(server, "there is more than a host and a port");
    }
    if (uri.getPort() == 0 || uri.getPort() > PORT_MAX) {
      throw unusable(server, "a port is 1 to " + PORT_MAX);
    }
    if ("http".equalsIgnoreCase(uri.getScheme())) {
      requireNone(server, tls);
      int port = uri.getPort() < 0 ? 80 : uri.getPort();
      return new Address(
          NettyChannelBuilder.forAddress(uri.getHost(), port).usePlaintext(), () -> {});
    }
    if (!"https".equalsIgnoreCase(uri.getScheme())) {
      throw unusable(server, "its scheme is none of these");
    }
    int port = uri.getPort() < 0 ? 443 : uri.getPort();
    return new Address(secured(NettyChannelBuilder.forAddress(uri.getHost(), port), tls), () -> {});
  }

  private static NettyChannelBuilder secured(NettyChannelBuilder channel, Tls tls) {
    SslContextBuilder context = GrpcSslContexts.forClient();
    try {
      if (tls.authority() != null) {
        context.trustManager(file(tls.authority(), "the authority"));
      }
      if (tls.certificate() != null) {
        context.keyManager(
            file(tls.certificate(), "the certificate"), file(tls.key(), "the certificate's key"));
      }
      return channel.sslContext(context.build());
    } catch (SSLException wrong) {
      throw new IllegalArgumentException(
          "TLS cannot be set up with these PEM files: " + wrong.getMessage(), wrong);
    }
  }

  private static Address unix(String server, Tls tls) {
    String path = server.substring(UNIX.length());
    while (path.startsWith("//")) {
      path = path.substring(1);
    }
    if (!path.startsWith("/")) {
      throw unusable(server, "the socket's path has to begin with /");
    }
    if (path.getBytes(StandardCharsets.UTF_8).length > PATH_MAX) {
      throw unusable(server, "the socket's path has more than " + PATH_MAX + " bytes");
    }
    requireNone(server, tls);
    if (!Epoll.isAvailable()) {
      throw new IllegalArgumentException(
          "%s: Unix sockets need Linux on x86-64 or ARM 64; give an http:// address"
              .formatted(server),
          Epoll.unavailabilityCause());
    }
    var group =
        new MultiThreadIoEventLoopGroup(
            1, new DefaultThreadFactory("toolbatch-unix", true), EpollIoHandler.newFactory());
    NettyChannelBuilder channel =
        NettyChannelBuilder.forAddress(new DomainSocketAddress(path))
            .eventLoopGroup(group)
            .channelType(EpollDomainSocketChannel.class, DomainSocketAddress.class)
            // Unset: it is TCP's, and set by default.
            .withOption(ChannelOption.SO_KEEPALIVE, null)
            .overrideAuthority("localhost")
            .usePlaintext();
    return new Address(channel, () -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
  }

  private static File file(Path path, String what) {
    File file = path.toFile();
    if (!file.isFile() || !file.canRead()) {
      throw new IllegalArgumentException(
          "%s cannot be read: there is no readable file %s".formatted(what, path));
    }
    return file;
  }

  private static void requireNone(String server, Tls tls) {
    if (tls.isSet()) {
      throw unusable(server, "certificates are for https:// alone");
    }
  }

  private static IllegalArgumentException unusable(String server, String why) {
    return new IllegalArgumentException(
        "the server's address has to be http://HOST:PORT, https://HOST:PORT or unix:/PATH, but is \"%s\": %s"
            .formatted(server, why));
  }
}
