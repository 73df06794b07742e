package dev.toolbatch.backend;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.netty.shaded.io.netty.handler.ssl.ClientAuth;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/** Where a backend listens, what has to be looked at before, and cleared away after it. */
record Listener(NettyServerBuilder server, String address, Listener.Check check, Runnable release) {
  private static final Pattern HOST_PORT =
      Pattern.compile("(?:\\[([^\\]]+)\\]|([^:\\[\\]]+)):(\\d{1,5})");
  private static final String UNIX = "unix:";

  /** Of {@code st_mode}: the bits of a file's type, and those of a socket. */
  private static final int FILE_TYPE = 0170000;

  private static final int SOCKET = 0140000;

  /** Throws where the address cannot be listened on. */
  interface Check {
    void run() throws IOException;
  }

  /** What TLS needs; the authority of clients is null where they need no certificate. */
  record Tls(Path certificate, Path key, Path clientAuthority) {}

  /** {@code tls} is null where there is none. */
  static Listener at(String address, Tls tls) {
    if (address.startsWith(UNIX)) {
      if (tls != null) {
        throw unusable(address, "there is no TLS on a Unix socket");
      }
      return unix(address);
    }
    Matcher parts = HOST_PORT.matcher(address);
    if (!parts.matches()) {
      throw unusable(address, "it is neither");
    }
    int port = Integer.parseInt(parts.group(3));
    if (port > 65535) {
      throw unusable(address, "a port is at most 65535");
    }
    String host = parts.group(1) == null ? parts.group(2) : parts.group(1);
    InetSocketAddress resolved = new InetSocketAddress(host, port);
    if (resolved.isUnresolved()) {
      throw unusable(address, "no host of that name is known");
    }
    NettyServerBuilder server = NettyServerBuilder.forAddress(resolved);
    if (tls != null) {
      secure(server, tls);
    }
    return new Listener(server, address, () -> {}, () -> {});
  }

  private static void secure(NettyServerBuilder server, Tls tls) {
    for (Path file : new Path[] {tls.certificate(), tls.key(), tls.clientAuthority()}) {
      if (file != null && !Files.isReadable(file)) {
        throw new IllegalArgumentException("there is no readable PEM file " + file);
      }
    }
    SslContextBuilder context =
        GrpcSslContexts.forServer(tls.certificate().toFile(), tls.key().toFile());
    if (tls.clientAuthority() != null) {
      context.trustManager(tls.clientAuthority().toFile()).clientAuth(ClientAuth.REQUIRE);
    }
    try {
      server.sslContext(context.build());
    } catch (SSLException wrong) {
      throw new IllegalArgumentException(
          "TLS cannot be set up with these PEM files: " + wrong.getMessage(), wrong);
    }
  }

  private static Listener unix(String address) {
    Path path = Path.of(address.substring(UNIX.length()));
    if (!path.isAbsolute()) {
      throw unusable(address, "the socket's path has to begin with /");
    }
    if (!Epoll.isAvailable()) {
      throw new IllegalArgumentException(
          address + ": Unix sockets need Linux on x86-64 or ARM 64", Epoll.unavailabilityCause());
    }
    EventLoopGroup group =
        new MultiThreadIoEventLoopGroup(
            2, new DefaultThreadFactory("toolbatch-unix", true), EpollIoHandler.newFactory());
    NettyServerBuilder server =
        NettyServerBuilder.forAddress(new DomainSocketAddress(path.toFile()))
            .channelType(EpollServerDomainSocketChannel.class)
            // Unset: it is TCP's, and set by default.
            .withChildOption(ChannelOption.SO_KEEPALIVE, null)
            .bossEventLoopGroup(group)
            .workerEventLoopGroup(group);
    return new Listener(
        server,
        address,
        () -> requireFree(path),
        () -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS));
  }

  /**
   * Requires that nothing is there but the socket of a program that has ended: Netty removes
   * whatever it finds where it binds.
   */
  private static void requireFree(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    int mode = (int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    if ((mode & FILE_TYPE) != SOCKET) {
      throw new FileAlreadyExistsException("there is a file that is no socket");
    }
    try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      probe.connect(UnixDomainSocketAddress.of(path));
    } catch (ConnectException nobody) {
      return;
    }
    throw new BindException("the socket is in use by another program");
  }

  private static IllegalArgumentException unusable(String address, String why) {
    return new IllegalArgumentException(
        "the address to listen on has to be HOST:PORT or unix:/PATH, but is \"%s\": %s"
            .formatted(address, why));
  }
}
