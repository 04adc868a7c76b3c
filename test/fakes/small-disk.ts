import { spawnSync } from "node:child_process";

/** How large a disk is, and how many files and folders it takes. */
export interface DiskSize {
  megabytes: number;
  files?: number;
}

/** Ways to a place where a program may mount a disk that nobody else sees: as anybody, and as root in a container. */
const WAYS = [
  ["unshare", "--user", "--map-root-user", "--mount"],
  ["unshare", "--mount"],
];

/** Mounts a disk at `$0`, and becomes the command that follows. */
const mounting = ({ megabytes, files = 10_000 }: DiskSize): string =>
  `mount -t tmpfs -o size=${megabytes}m,nr_inodes=${files},mode=700 tmpfs "$0" && exec "$@"`;

const way = WAYS.find(
  ([program = "", ...flags]) =>
    spawnSync(program, [...flags, "sh", "-c", mounting({ megabytes: 1 }), "/tmp", "true"]).status === 0,
);

/** Why no program can be given a disk of its own here; undefined where one can. */
export const whyNoSmallDisk: string | undefined =
  way === undefined ? "it takes a disk of its own, and `unshare --mount` and `mount` may not make one here" : undefined;

/** Returns the command that runs a program for which a folder is a disk of that size. It is gone when the program ends. */
export const onSmallDisk = (folder: string, size: DiskSize, command: readonly string[]): string[] => [
  ...(way ?? []),
  "sh",
  "-c",
  mounting(size),
  folder,
  ...command,
];
