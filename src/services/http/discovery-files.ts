import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { Instance, ServerFile } from "./instance.ts";

/** The files by which servers are found. All calls are synchronous: some are made while the process exits. */
export interface DiscoveryFiles {
  /** What `server.json` says; undefined: nothing that can be read. */
  readServer(): ServerFile | undefined;
  writeServer(server: ServerFile): void;
  removeServer(): void;
  /** What all servers say of themselves. */
  readInstances(): Instance[];
  writeInstance(instance: Instance): void;
  /** Removes all that a process has left. */
  removeInstance(pid: number): void;
}

/** In the plugin's data folder, which is made where it is not there. */
export const createDiscoveryFiles = (folder: string): DiscoveryFiles => {
  const serverFile = join(folder, "server.json");
  const instances = join(folder, "instances");
  const fileOf = (pid: number) => join(instances, `${pid}.json`);
  const temporaryOf = (pid: number) => join(instances, `${pid}.tmp`);

  const read = <S extends z.ZodType>(path: string, schema: S): z.infer<S> | undefined => {
    try {
      return schema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data;
    } catch {
      return undefined;
    }
  };

  /** Whoever reads at the same time finds all of the old text or all of the new one. */
  const write = (path: string, value: Instance) => {
    mkdirSync(instances, { recursive: true, mode: 0o700 });
    const temporary = temporaryOf(value.pid);
    rmSync(temporary, { force: true });
    writeFileSync(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  };

  return {
    readServer: () => read(serverFile, ServerFile),
    writeServer: (server) => write(serverFile, server),
    removeServer: () => rmSync(serverFile, { force: true }),
    readInstances: () =>
      readdirSync(instances).flatMap((name) => {
        const pid = Number(/^(\d+)\.json$/.exec(name)?.[1]);
        const instance = pid ? read(fileOf(pid), Instance) : undefined;
        return instance?.pid === pid ? [instance] : [];
      }),
    writeInstance: (instance) => write(fileOf(instance.pid), instance),
    removeInstance: (pid) => {
      rmSync(fileOf(pid), { force: true });
      rmSync(temporaryOf(pid), { force: true });
    },
  };
};
