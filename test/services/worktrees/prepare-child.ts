import { worktreesAtRest } from "./worktrees-at-rest.ts";

/** Makes the worktree of a task again, in a process that is killed by the setup command of it. */
const { root, task } = JSON.parse(process.argv[2] ?? "");
await worktreesAtRest(root, `kill -9 ${process.pid}; sleep 60`).prepare(task, new AbortController().signal);
