import { refused } from "../../fakes/fake-host.ts";
import { PARENT } from "../../fakes/stage.ts";
import { ANSWERED, describePlays } from "./crashing.ts";

describePlays({
  "a task is launched, answered and delivered": async ({ launch, work }) => {
    await launch("count the files");
    await work();
  },
  "of a batch one is answered, one fails and one is cancelled": async ({ launch, call, work }) => {
    await Promise.all([launch("count the files"), launch("fail at once")]);
    const endless = await launch("go on for ever");
    await work();
    if (endless) await call("cancel", { task_id: endless });
    await work();
  },
  "a task begins as a fork with a long result to cut": async ({ stage, launch, work }) => {
    const { host } = stage;
    host.converse(PARENT);
    const [first] = host.at(PARENT).messages;
    if (first) Object.assign(first, { text: "long ".repeat(1_000), toolResult: true });
    const endStep = host.beginStep(PARENT, "msg_turn");
    await stage.clock.advance(1);
    await launch("count the files", { fork: true });
    endStep();
    await work();
  },
  "the host does not fork, and a task gets the conversation as text": async ({ stage, launch, work }) => {
    const { host } = stage;
    host.converse(PARENT);
    host.failNext("fork", refused);
    await launch("count the files", { fork: true });
    await work();
  },
  "a tool waits for a task, and delivers its end": async ({ stage, launch, call, work }) => {
    const id = await launch("count the files");
    if (!id) return;
    const { host } = stage;
    host.at(PARENT).toolCalls.set(ANSWERED, "begun");
    const read = call("output", { task_id: id, block: true }, { callID: ANSWERED });
    const stored = read.then((answer) => {
      if (answer === undefined) return;
      host.at(PARENT).toolCalls.set(ANSWERED, "stored");
      host.emit({ type: "toolCall", sessionID: PARENT, callID: ANSWERED, tool: "output", stage: "stored" });
    });
    await work();
    if (!stage.life.isOver()) await stored;
  },
});
