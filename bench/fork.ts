import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startLab } from "../test/e2e/lab/lab.ts";
import { toolResults } from "../test/e2e/lab/model-request.ts";
import { calls, text } from "../test/e2e/lab/reply.ts";

/**
 * How long a fork takes from the tool call to its first prompt, in the real host: a conversation of 200 steps, half of
 * which have a long tool result that is cut, beside one of 200 steps without any. Exits 1 when a goal is missed.
 *
 * Goals: ready within 2,000 ms; and our part of it grows with what is cut, not with the history. The host's own copying,
 * which grows with the history, is measured beside it.
 */
const STEPS = 200;
const GOAL_MS = 2_000;

// Without this the host would sum the conversation up before it is that long.
const lab = await startLab({ config: { compaction: { auto: false } } });
try {
  const long = join(lab.opencode.project, "long.txt");
  const short = join(lab.opencode.project, "short.txt");
  await writeFile(long, "a line of some length, again and again\n".repeat(60));
  await writeFile(short, "short\n");

  /** Milliseconds from the request for the fork to the child's first model request, and of the host's forking alone. */
  const measure = async (
    name: string,
    fileOf: (step: number) => string,
  ): Promise<{ ready: number; copied: number }> => {
    const parent = await lab.session();
    const prompt = `first prompt of ${name}`;
    lab.model.when(
      (request) => request.sessionID === parent,
      (request) => {
        const step = toolResults(request).length;
        if (step < STEPS) return calls([{ name: "read", args: { filePath: fileOf(step) } }]);
        const args = { description: name, prompt, agent: "general", fork: true };
        return step === STEPS ? calls([{ name: "asyncagents_task", args }]) : text("launched");
      },
    );
    await lab.prompt(parent, `work through ${name}`);
    const asks = await lab.model.waitFor(
      (request) => request.sessionID === parent && toolResults(request).length === STEPS,
      { timeoutMs: 180_000 },
    );
    const child = await lab.model.waitFor(
      (request) => request.sessionID !== parent && JSON.stringify(request.messages).includes(prompt),
      { timeoutMs: 60_000 },
    );
    await lab.idle(parent);
    const begun = performance.now();
    await lab.client.session.fork({ sessionID: parent });
    return { ready: child.at - (asks.answeredAt ?? asks.at), copied: performance.now() - begun };
  };

  await measure("a warm-up", () => short);
  const plain = await measure("short results", () => short);
  const cut = await measure("long results", (step) => (step % 2 === 0 ? long : short));
  const say = (what: string, { ready, copied }: { ready: number; copied: number }) =>
    process.stdout.write(
      `${what.padEnd(44)}ready after ${Math.round(ready)} ms; the host's fork alone takes ${Math.round(copied)} ms\n`,
    );
  say(`${STEPS} steps, nothing to cut`, plain);
  say(`${STEPS} steps, ${STEPS / 2} long tool results cut`, cut);
  process.stdout.write(`goal: at most ${GOAL_MS} ms: ${cut.ready <= GOAL_MS ? "met" : "MISSED"}\n`);
  process.exitCode = cut.ready <= GOAL_MS ? 0 : 1;
} finally {
  await lab.stop();
}
