import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readCredentials } from "../../../src/services/fleet/nats/nats-connection.ts";
import { opencodeTaskchart } from "../../cli/command-line.ts";
import { openBroker, reached } from "../../fakes/connect-broker.ts";
import { describeWith } from "../../fakes/describe-with.ts";
import { findProgram } from "../../fakes/installed-program.ts";
import { newNatsAccount } from "../../fakes/nats-account.ts";
import { describeWithNats, startNats } from "../../fakes/nats-server.ts";
import { newNatsUsers } from "../../fakes/nats-users.ts";
import { claimed, RUN } from "./broker-contract.ts";

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-secured-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const openssl = findProgram((process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "openssl")));

describeWithNats("A fleet whose NATS server wants a JWT of its operator", () => {
  test("lets in who has a credentials file, by the command and by the plugin, and nobody else", async () => {
    const { configuration, credentials } = await newNatsAccount();
    const file = join(newFolder(), "fleet.creds");
    writeFileSync(file, credentials, { mode: 0o600 });
    const server = await startNats({}, { configuration });
    onTestFinished(server.stop);
    const init = (...more: string[]) => opencodeTaskchart(["fleet", "init", "--url", server.url, ...more]);
    expect((await init()).error).toContain("does not let you in");
    expect(await init("--credentials", file)).toMatchObject({ code: 0, error: "" });
    const broker = await reached(openBroker(server.url, "a server", { credentials: readCredentials(file) }));
    expect((await broker.append(RUN, claimed("may"), undefined)).is).toBe("stored");
  });
});

test("a credentials file that others may read is refused, with what to do", () => {
  const { users, remove } = newNatsUsers(["UDESK"]);
  onTestFinished(remove);
  const { file } = users.UDESK;
  expect(() => readCredentials(file)).not.toThrow();
  chmodSync(file, 0o640);
  expect(() => readCredentials(file)).toThrow(`others than its owner may read ${file}: chmod 600 ${file}`);
});

describeWith(openssl, 'There is no openssl: "apt-get install openssl" gets it.', "A fleet over TLS", () => {
  describeWithNats("whose certificate is of an authority of its own", () => {
    test("is reached where that authority is named, and not without it", async () => {
      const folder = newFolder();
      const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
      const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
      const name = ["-subj", "/CN=fleet", "-addext", "subjectAltName=IP:127.0.0.1"];
      execFileSync(openssl ?? "", ["req", ...kind, ...name, "-keyout", key, "-out", certificate], { stdio: "ignore" });
      const configuration = `tls { cert_file: "${certificate}", key_file: "${key}" }`;
      const server = await startNats({}, { configuration });
      onTestFinished(server.stop);
      const url = server.url.replace("nats:", "tls:");
      const fleet = (action: string, env: Record<string, string> = {}) =>
        opencodeTaskchart(["fleet", action, "--url", url], env);
      const trusting = { NODE_EXTRA_CA_CERTS: certificate };
      expect(await fleet("init")).toMatchObject({ code: 4, error: expect.stringMatching(/certificate/) });
      expect(await fleet("init", trusting)).toMatchObject({ code: 0, error: "" });
      expect((await fleet("status", trusting)).out).toContain(`at ${url}`);
    });
  });
});
