import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** In memory if possible: these tests kill processes, but not machines, and syncing takes half of their time. */
export const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
