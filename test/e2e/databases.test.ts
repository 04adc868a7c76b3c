import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { isNightly } from "../nightly.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { startOpenCode } from "./lab/opencode.ts";
import { hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launchFrom, noticesIn } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** When each process showed last that it lives, the newest last. */
const signs = (): number[] => {
  const path = join(lab.options.home, "data", "opencode-taskchart", "tasks.db");
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    return database
      .prepare("SELECT beat_at FROM owner ORDER BY beat_at")
      .all()
      .map(({ beat_at }) => Number(beat_at));
  } finally {
    database.close();
  }
};

/** Both take the same way in the plugin; `NIGHTLY=1` shows both. */
const DATABASES = isNightly ? ["other.db", ":memory:"] : ["other.db"];

test.each(DATABASES)(
  "an OpenCode whose sessions are in %s takes no task of another database, and removes none: its own OpenCode ends it",
  async (OPENCODE_DB) => {
    const parent = await lab.session();
    const prompt = `a task beside ${OPENCODE_DB}`;
    const waits = hang();
    lab.model.when(inChild(prompt), waits);
    const [id = ""] = await launchFrom(lab, parent, [prompt]);
    const before = storedTasks(lab);
    await lab.opencode.kill();

    const other = await startOpenCode({ ...lab.options, env: { ...lab.options.env, OPENCODE_DB } });
    try {
      const { data: sessions } = await other.client.session.list();
      expect(sessions?.map((session) => session.id)).not.toContain(parent);
      // It shows that it lives, and takes over, in one go: after the third time it has looked twice.
      let [looks, last] = [0, signs().at(-1) ?? 0];
      const looked = () => {
        const now = signs().at(-1) ?? 0;
        if (now > last) looks += 1;
        last = now;
        return looks >= 3;
      };
      await lab.until(looked, { what: "the other OpenCode has looked for tasks" });
      expect(storedTasks(lab)).toEqual(before);
    } finally {
      await other.stop();
    }

    waits.release(text("It went on."));
    await lab.restart();
    const notices = async () => {
      const all = await noticesIn(lab, parent);
      return all.filter(({ taskId }) => taskId === id);
    };
    const isOver = async () =>
      (await notices()).length > 0 && storedTasks(lab).find((task) => task.id === id)?.owner === null;
    await lab.until(isOver, { what: "the result is delivered" });
    expect(await notices()).toHaveLength(1);
    expect(storedTasks(lab).find((task) => task.id === id)).toMatchObject({
      status: "completed",
      result: "It went on.",
    });
  },
);
