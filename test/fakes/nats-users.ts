import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";

/** Somebody whom a NATS server may let in. */
export interface NatsUser {
  /** The public key, by which the server's configuration names it. */
  key: string;
  /** A file with the seed of its key, as `fleet.credentials` names one. */
  file: string;
}

/** Makes users, each with a key and a file of its own. The caller removes the files. */
export const newNatsUsers = <Name extends string>(names: readonly Name[]) => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-users-"));
  const users = names.map((name): [Name, NatsUser] => {
    const pair = nkeys.createUser();
    const file = join(folder, name);
    writeFileSync(file, `${new TextDecoder().decode(pair.getSeed())}\n`, { mode: 0o600 });
    return [name, { key: pair.getPublicKey(), file }];
  });
  return {
    users: Object.fromEntries(users) as Record<Name, NatsUser>,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
