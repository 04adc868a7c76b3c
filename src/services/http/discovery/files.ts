import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { makePrivateFolder } from "../../platform/private-files.ts";
import { Instance, ServerFile } from "./instance.ts";

/** The files by which servers are found. All methods are synchronous: some are called while the process exits. */
export interface DiscoveryFiles {
  /** Creates the folders, for their owner alone. Returns those to which other users had access until now. May throw. */
  prepare(): string[];
  /** Returns the content of `server.json`; undefined when it is missing or invalid. */
  readServer(): ServerFile | undefined;
  writeServer(server: ServerFile): void;
  removeServer(): void;
  /** Returns the entries of all servers. Invalid ones are left out. */
  readInstances(): Instance[];
  writeInstance(instance: Instance): void;
  hasInstance(pid: number): boolean;
  /** Removes the files of a process. */
  removeInstance(pid: number): void;
}

/** Creates the access to the discovery files in the plugin's data folder, which need not exist. */
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

  /** Somebody may have removed the folder. */
  const instanceNames = () => (existsSync(instances) ? readdirSync(instances) : []);

  /** Does nothing where the folder is missing, or has been replaced by a file. */
  const remove = (path: string) => {
    if (existsSync(path)) rmSync(path, { force: true });
  };

  /** Writes atomically: a concurrent reader finds either the old content or the new one. */
  const write = (path: string, value: Instance) => {
    mkdirSync(instances, { recursive: true, mode: 0o700 });
    const temporary = temporaryOf(value.pid);
    rmSync(temporary, { force: true });
    writeFileSync(temporary, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  };

  return {
    prepare: () => [folder, instances].filter(makePrivateFolder),
    readServer: () => read(serverFile, ServerFile),
    writeServer: (server) => write(serverFile, server),
    removeServer: () => remove(serverFile),
    readInstances: () =>
      instanceNames().flatMap((name) => {
        const pid = Number(/^(\d+)\.json$/.exec(name)?.[1]);
        const instance = pid ? read(fileOf(pid), Instance) : undefined;
        return instance?.pid === pid ? [instance] : [];
      }),
    hasInstance: (pid) => existsSync(fileOf(pid)),
    writeInstance: (instance) => write(fileOf(instance.pid), instance),
    removeInstance: (pid) => {
      remove(fileOf(pid));
      remove(temporaryOf(pid));
    },
  };
};
