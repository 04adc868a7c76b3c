import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** In memory where there is such a folder: what dies in these tests is no machine, and syncing takes half of their time. */
export const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
