import { type ModelRequest, textOf } from "../../test/e2e/lab/model-request.ts";
import { now } from "../../test/e2e/lab/recording.ts";
import { calls, hang, text } from "../../test/e2e/lab/reply.ts";
import type { Child, Contender } from "./contender.ts";
import { type CpuUse, cpuUse } from "./processor.ts";

/** A moment, and what the server and this process had used of the processor by then. */
export type Mark = {
  /** Epoch milliseconds with a fraction. */
  at: number;
  server: CpuUse | undefined;
  /** CPU milliseconds of this process, the scripted model in it. */
  bench: number;
};

/** A model request of the parent, marked when the whole of it had arrived. */
export type Arrival = Mark & { request: ModelRequest };

/** A child with what it asked its model. */
export type AskingChild = { child: Child; request: ModelRequest };

/**
 * A parent session whose first answer launches tasks, and whose others say nothing of interest. While time is measured,
 * requests are only collected: reading them is left for afterwards.
 */
export type ScriptedParent = {
  id: string;
  /** Every model request of the parent so far. */
  arrivals: readonly Arrival[];
  /** How many children have asked their model; it answers none of them until they are released. */
  countChildren(): number;
  /** @throws Error when one of the tasks has no child that asked its model. */
  children(): AskingChild[];
  /** Ends all children at the same moment. */
  release(): void;
};

/** Creates the session, and scripts its answers and those of its children. */
export async function scriptParent({ lab, launch }: Contender, title: string, tasks: number): Promise<ScriptedParent> {
  const descriptions = Array.from({ length: tasks }, (_, index) => `${title} child ${index + 1}`);
  const launches = calls(descriptions.map((description) => launch(description, promptOf(description))));
  const id = await lab.session({ title });
  const asked: ModelRequest[] = [];
  const arrivals: Arrival[] = [];
  const held = hang();
  lab.model.when(
    ({ parentSessionID }) => parentSessionID === id,
    (request) => {
      asked.push(request);
      return held;
    },
  );
  lab.model.when(
    ({ sessionID }) => sessionID === id,
    (request) => {
      arrivals.push({ ...markOf(lab.opencode.pid), at: request.at, request });
      return arrivals.length === 1 ? launches : text("Noted.");
    },
  );
  return {
    id,
    arrivals,
    countChildren: () => asked.length,
    children() {
      const texts = asked.map((request) => ({ request, said: userTextOf(request) }));
      return descriptions.map((description) => {
        const request = texts.find(({ said }) => said.includes(promptOf(description)))?.request;
        if (!request) throw new Error(`no child works on "${description}"`);
        return { child: { description, sessionID: request.sessionID }, request };
      });
    },
    release: () => held.release(text("The child's answer.")),
  };
}

export function markOf(pid: number): Mark {
  const { user, system } = process.cpuUsage();
  return { at: now(), server: cpuUse(pid), bench: (user + system) / 1000 };
}

/** Only what users said: a launching call's arguments and its answer name the task as well. */
export function userTextOf(request: ModelRequest): string {
  return request.messages
    .filter((message) => message.role === "user")
    .map(textOf)
    .join("\n");
}

/** The full stop keeps child 1 apart from child 11. */
function promptOf(description: string): string {
  return `Do ${description}.`;
}
