import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startLab } from "../test/e2e/lab/lab.ts";
import { lastUserText } from "../test/e2e/lab/model-request.ts";
import { calls, text } from "../test/e2e/lab/reply.ts";
import { type Figure, report } from "./figures.ts";

/**
 * How long a fork takes from the tool call to its first prompt, in the real host: a conversation of 200 messages with 100
 * long tool results that are cut, beside one whose results are short. Exits 1 when the goal is missed.
 *
 * The host copies a conversation part by part, which takes it more than 2 s here; that is measured beside the whole. The
 * goal is for what is ours: 2,000 ms at most from the copy to the first prompt, growing with what is cut alone.
 */
const GOAL_MS = 2_000;
/** A turn is four messages: a question, two steps that read a file each, and an answer. */
const TURNS = 50;

// Without this the host would sum the conversation up before it is that long.
const lab = await startLab({ config: { compaction: { auto: false } } });
try {
  const long = join(lab.opencode.project, "long.txt");
  const short = join(lab.opencode.project, "short.txt");
  await writeFile(long, "a line of some length, again and again\n".repeat(60));
  await writeFile(short, "short\n");

  /** Milliseconds from the request for the fork to the child's first model request, and of the host's forking alone. */
  const measure = async (name: string, file: string): Promise<{ ready: number; copied: number }> => {
    const parent = await lab.session();
    const steps = [1, 2].map(() => calls([{ name: "read", args: { filePath: file } }]));
    for (let turn = 0; turn < TURNS; turn += 1) {
      const question = `${name}, turn ${turn}.`;
      lab.model.when(question, [...steps, text("read twice")]);
      await lab.prompt(parent, question);
      await lab.idle(parent);
    }
    const prompt = `begin with ${name}`;
    const args = { description: name, prompt, agent: "general", fork: true };
    const asking = `fork ${name}`;
    lab.model.when(asking, [calls([{ name: "asyncagents_task", args }]), text("launched")]);
    lab.model.when((request) => request.sessionID !== parent && lastUserText(request).includes(prompt), text("begun"));
    await lab.prompt(parent, asking);
    const asks = await lab.model.waitFor(asking);
    const child = await lab.model.waitFor((request) => request.sessionID !== parent, {
      after: asks,
      timeoutMs: 60_000,
    });
    await lab.idle(parent);
    const begun = performance.now();
    await lab.client.session.fork({ sessionID: parent });
    return { ready: child.at - (asks.answeredAt ?? asks.at), copied: performance.now() - begun };
  };

  await measure("a warm-up", short);
  const plain = await measure("short results", short);
  const cut = await measure("long results", long);
  const ours = ({ ready, copied }: { ready: number; copied: number }) => ready - copied;
  const figuresOf = (what: string, times: { ready: number; copied: number }, atMost?: number): Figure[] => [
    { what: `${what}: ready after`, value: times.ready, unit: "ms" },
    { what: `${what}: OpenCode's copying`, value: times.copied, unit: "ms" },
    {
      what: `${what}: ours`,
      value: ours(times),
      unit: "ms",
      ...(atMost !== undefined && { atMost }),
      compared: { own: ours(times), other: times.copied, unit: "ms", with: "OpenCode's copying" },
    },
  ];
  report([
    ...figuresOf(`${TURNS * 4} messages, nothing to cut`, plain),
    ...figuresOf(`${TURNS * 4} messages, ${TURNS * 2} long tool results cut`, cut, GOAL_MS),
  ]);
} finally {
  await lab.stop();
}
