package dev.toolbatch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * An authority, and a certificate of 127.0.0.1 that it signed, as PEM files; made by the JDK's
 * keytool.
 */
final class Certificates {
  private static final String PASSWORD = "secret-of-a-test";
  private static final long SECONDS = 60;

  private final Path folder;

  Certificates(Path folder) throws Exception {
    this.folder = folder;
    keytool("-genkeypair -alias ca -dname CN=ca -ext bc=ca:true -ext ku=keyCertSign");
    keytool("-genkeypair -alias one -dname CN=one");
    keytool("-certreq -alias one -file one.csr");
    keytool(
        "-gencert -alias ca -infile one.csr -outfile one.der -ext san=ip:127.0.0.1 -ext eku=serverAuth,clientAuth");
    write(certificate(), "CERTIFICATE", Files.readAllBytes(folder.resolve("one.der")));
    KeyStore keys = KeyStore.getInstance(folder.resolve("keys").toFile(), PASSWORD.toCharArray());
    write(authority(), "CERTIFICATE", keys.getCertificate("ca").getEncoded());
    write(key(), "PRIVATE KEY", keys.getKey("one", PASSWORD.toCharArray()).getEncoded());
  }

  Path authority() {
    return folder.resolve("ca.pem");
  }

  Path certificate() {
    return folder.resolve("one.pem");
  }

  Path key() {
    return folder.resolve("one.key");
  }

  private static void write(Path file, String what, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(
        file, "-----BEGIN %1$s-----\n%2$s\n-----END %1$s-----\n".formatted(what, text));
  }

  private void keytool(String arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments.split(" ")));
    if (arguments.startsWith("-genkeypair")) {
      command.addAll(List.of("-keyalg", "RSA", "-keysize", "2048"));
    }
    command.addAll(List.of("-keystore", "keys", "-storepass", PASSWORD));
    Path log = folder.resolve("log");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    if (!process.waitFor(SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
      throw new GeneralSecurityException("keytool failed:\n" + Files.readString(log));
    }
  }
}
