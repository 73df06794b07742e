package dev.toolbatch;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/** Stands before a server and cuts each connection after so many bytes of its answers. */
final class CuttingProxy implements AutoCloseable {
  private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final AtomicInteger cuts = new AtomicInteger();
  private final int port;
  private final IntSupplier bytes;

  CuttingProxy(int port, IntSupplier bytes) throws IOException {
    this.port = port;
    this.bytes = bytes;
    daemon(this::accept);
  }

  String address() {
    return "http://127.0.0.1:" + listening.getLocalPort();
  }

  int cuts() {
    return cuts.get();
  }

  @Override
  public void close() throws IOException {
    listening.close();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
        daemon(() -> pass(client, server, Integer.MAX_VALUE));
        daemon(() -> pass(server, client, bytes.getAsInt()));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private void pass(Socket from, Socket to, int most) {
    int left = most;
    byte[] buffer = new byte[4096];
    try (from) {
      InputStream input = from.getInputStream();
      OutputStream output = to.getOutputStream();
      while (left > 0) {
        int read = input.read(buffer, 0, Math.min(buffer.length, left));
        if (read < 0) {
          break;
        }
        output.write(buffer, 0, read);
        left -= read;
      }
      if (left == 0) {
        cuts.incrementAndGet();
      }
      // What was passed on still arrives; the other side closes its half then.
      to.shutdownOutput();
    } catch (IOException broken) {
      close(to);
    }
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException closed) {
      throw new UncheckedIOException(closed);
    }
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task, "cutting-proxy");
    thread.setDaemon(true);
    thread.start();
  }
}
