import { refused, unavailable } from "../../fakes/fake-host.ts";
import { PARENT } from "../../fakes/stage.ts";
import { type Agent, describePlays } from "./crashing.ts";

/** The parent's agent launches a fork from the middle of its turn: only then is a copy without a mark known to be ours. */
const launchFork = async ({ stage, launch }: Agent) => {
  stage.host.converse(PARENT);
  const endStep = stage.host.beginStep(PARENT, "msg_turn");
  await stage.clock.advance(1);
  await launch("count the files", { fork: true });
  endStep();
};

/** The next call of this name is done, but the host does not say so. */
const doneInSilence = ({ host }: Agent["stage"], call: "createSession" | "fork" | "storeMessage" | "deleteSession") => {
  const original = host[call] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(host, {
    [call]: async (...args: unknown[]) => {
      Object.assign(host, { [call]: original });
      await original.apply(host, args);
      return { ok: false, failure: unavailable };
    },
  });
};

describePlays({
  "a session is created, though the host does not say so": async ({ stage, launch, work }) => {
    doneInSilence(stage, "createSession");
    const launched = launch("count the files");
    await work();
    await launched;
    await work();
  },
  "a conversation is copied, though the host does not say so": async (agent) => {
    doneInSilence(agent.stage, "fork");
    await launchFork(agent);
    await agent.work();
  },
  "a copy can be neither cut nor at once deleted, and a task gets the conversation as text": async (agent) => {
    agent.stage.host.failNext("forkedMessages", refused);
    agent.stage.host.failNext("deleteSession", unavailable);
    await launchFork(agent);
    await agent.work();
    // Longer than the pauses before it is tried again.
    await agent.stage.clock.advance(20_000);
  },
  "a copy is deleted, though the host does not say so": async (agent) => {
    agent.stage.host.failNext("forkedMessages", refused);
    doneInSilence(agent.stage, "deleteSession");
    await launchFork(agent);
    await agent.work();
  },
  "a launch is cancelled while its conversation is copied": async (agent) => {
    const { stage, work } = agent;
    const turn = new AbortController();
    const held = stage.host.holdNext("fork");
    stage.host.converse(PARENT);
    const endStep = stage.host.beginStep(PARENT, "msg_turn");
    await stage.clock.advance(1);
    const args = { description: "a", prompt: "count the files", agent: "general", fork: true };
    const launched = stage.call("task", args, { abort: turn.signal }).catch(() => undefined);
    await stage.clock.advance(10);
    turn.abort();
    held.release();
    await Promise.race([launched, work()]);
    endStep();
    await agent.launch("count the folders");
    await work();
  },
});
