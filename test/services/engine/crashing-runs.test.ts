import { describePlays } from "./crashing.ts";

describePlays({
  "a task is resumed twice": async ({ launch, call, work }) => {
    const id = await launch("count the files");
    await work();
    if (id) await call("task", { resume: id, prompt: "count the folders" });
    await work();
    if (id) await call("task", { resume: id, prompt: "fail now" });
    await work();
  },
  "a task fails, is retried, fails again, and is retried once more": async ({ launch, call, work }) => {
    const id = await launch("fail at once");
    await work();
    if (id) await call("task", { retry: id, prompt: "fail now" });
    await work();
    if (id) await call("task", { retry: id, prompt: "count the files" });
    await work();
  },
  "a task that was cancelled is retried, and resumed after that": async ({ launch, call, work }) => {
    const id = await launch("go on for ever");
    await work();
    if (id) await call("cancel", { task_id: id });
    await work();
    if (id) await call("task", { retry: id, prompt: "count the files" });
    await work();
    if (id) await call("task", { resume: id, prompt: "count the folders" });
    await work();
  },
  "a task is given two instructions, and answers to the last": async ({ launch, call, work }) => {
    const id = await launch("go on for ever");
    for (const prompt of ["count the folders", "count the tests"]) if (id) await call("task", { steer: id, prompt });
    await work();
  },
  "a task is given an instruction, sees it, is given another one, and is cancelled": async ({
    stage,
    launch,
    call,
    work,
  }) => {
    const id = await launch("go on for ever");
    if (id) await call("task", { steer: id, prompt: "count for ever" });
    if (id && !stage.life.isOver()) stage.host.step(id);
    await work();
    if (id) await call("task", { steer: id, prompt: "count the tests for ever" });
    if (id) await call("cancel", { task_id: id });
    await work();
  },
  "a task is given an instruction, and fails": async ({ stage, launch, call, work }) => {
    const id = await launch("go on for ever");
    if (id) await call("task", { steer: id, prompt: "count for ever" });
    if (id && !stage.life.isOver()) stage.host.fail(id, { name: "APIError", message: "401" });
    await work();
  },
  "a task is paused, continues, and is answered": async ({ launch, call, work }) => {
    const id = await launch("count the files");
    if (id) await call("cancel", { task_id: id, instead: "pause" });
    await work();
    if (id) await call("cancel", { task_id: id, instead: "continue" });
    await work();
  },
  "a task is paused with the one that it launched, and both continue": async ({ launch, call, work }) => {
    const lead = await launch("go on for ever, unless helped");
    const args = { description: "help", prompt: "help out", agent: "general" };
    if (lead) await call("task", args, { sessionID: lead });
    if (lead) await call("cancel", { task_id: lead, instead: "pause" });
    await work();
    if (lead) await call("cancel", { task_id: lead, instead: "continue" });
    await work();
  },
  "the provider of a task serves again in minutes, for which the task is set aside": async ({
    stage,
    launch,
    work,
  }) => {
    const id = await launch("go on for ever");
    if (id && !stage.life.isOver()) stage.host.refuseForNow(id, 330_000);
    await work();
    await stage.clock.advance(300_000);
    if (id && !stage.life.isOver() && stage.host.at(id).busy) stage.host.finish(id, "answer to: go on for ever");
    await work();
  },
  "a task is resumed while its result waits for another one of its batch": async ({ stage, launch, call, work }) => {
    const [id] = [await launch("count the files", { wake: "all" }), await launch("go on for ever", { wake: "all" })];
    await work();
    if (id) await call("task", { resume: id, prompt: "count the folders" });
    await work();
    for (const other of stage.life.isOver() ? [] : stage.host.sessionIDs())
      if (other !== id && stage.host.at(other).busy) stage.host.finish(other, "answer to: go on for ever");
    await work();
  },
  "a task launches a task of its own, and goes on when that is delivered": async ({ launch, call, work }) => {
    const lead = await launch("go on for ever, unless helped");
    const args = { description: "help", prompt: "help out", agent: "general" };
    if (lead) await call("task", args, { sessionID: lead });
    await work();
  },
  "a task fails while the one that it launched runs": async ({ stage, launch, call, work }) => {
    const lead = await launch("go on for ever");
    const args = { description: "help", prompt: "help for ever", agent: "general" };
    if (lead) await call("task", args, { sessionID: lead });
    if (lead && !stage.life.isOver()) stage.host.fail(lead, { name: "APIError", message: "401" });
    await work();
  },
  "a person aborts a task while the one that it launched runs": async ({ stage, launch, call, work }) => {
    const lead = await launch("go on for ever");
    const args = { description: "help", prompt: "help for ever", agent: "general" };
    if (lead) await call("task", args, { sessionID: lead });
    if (lead && !stage.life.isOver()) stage.host.abortByPerson(lead);
    await work();
  },
  "a task is cancelled, and the one that it launched with it": async ({ launch, call, work }) => {
    const lead = await launch("go on for ever");
    const args = { description: "help", prompt: "help for ever", agent: "general" };
    if (lead) await call("task", args, { sessionID: lead });
    await work();
    if (lead) await call("cancel", { task_id: lead });
    await work();
  },
});

describePlays(
  {
    "a task whose gate is run before its agent begins, too, is resumed": async ({ launch, call, work }) => {
      const id = await launch("count the files");
      await work();
      if (id) await call("task", { resume: id, prompt: "count the folders" });
      await work();
    },
    "a task is cancelled soon after its launch, while its gate may be run before its agent begins": async ({
      launch,
      call,
      work,
    }) => {
      const id = await launch("go on for ever");
      if (id) await call("cancel", { task_id: id });
      await work();
    },
  },
  { gate: { agents: { general: "npm test" }, tries: 1, timeout: 60_000, before: true } },
);
