import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "./server.js";

/** The paths of PEM files: a private authority, and a certificate of it for 127.0.0.1 that is used on both sides. */
export interface Authority {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes one, by the command `openssl`. */
export async function authority(test: TestContext): Promise<Authority> {
  const folder = await temporaryFolder(test);
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem");
  openssl("req", ...newKey, "-subj", "/CN=test", "-keyout", "key.pem", "-out", "cert.csr");
  writeFileSync(path("names"), "subjectAltName=IP:127.0.0.1");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"];
  openssl("x509", "-req", "-in", "cert.csr", ...signed, "-out", "cert.pem");
  return { ca: path("ca.pem"), cert: path("cert.pem"), key: path("key.pem") };
}
