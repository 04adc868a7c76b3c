import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { makePrivateFolder } from "../../platform/private-files.ts";
import { Instance, ServerFile } from "./instance.ts";

/** The files by which servers are found. All calls are synchronous: some are made while the process exits. */
export interface DiscoveryFiles {
  /** Makes the folders, for their owner alone. Returns those that others could look into until now. May throw. */
  prepare(): string[];
  /** What `server.json` says; undefined: nothing that can be read. */
  readServer(): ServerFile | undefined;
  writeServer(server: ServerFile): void;
  removeServer(): void;
  /** What all servers say of themselves. */
  readInstances(): Instance[];
  writeInstance(instance: Instance): void;
  hasInstance(pid: number): boolean;
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

  /** The folder may be gone: somebody has removed it. */
  const namesOfInstances = () => (existsSync(instances) ? readdirSync(instances) : []);

  /** Where the folder is gone, or is none any more, there is nothing to remove. */
  const remove = (path: string) => {
    if (existsSync(path)) rmSync(path, { force: true });
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
    prepare: () => [folder, instances].filter(makePrivateFolder),
    readServer: () => read(serverFile, ServerFile),
    writeServer: (server) => write(serverFile, server),
    removeServer: () => remove(serverFile),
    readInstances: () =>
      namesOfInstances().flatMap((name) => {
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
