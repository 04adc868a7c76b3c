import { createOpencodeClient } from "@opencode-ai/sdk";
import { describe } from "vitest";
import { createOpencodeHost } from "../../src/services/host/opencode-host.ts";
import { describeHost, type Subject } from "../contract/host-contract.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText } from "./lab/model-request.ts";
import { failure, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";

/** A model for which OpenCode has the variants low, medium and high. */
const thinking = { name: "M3", reasoning: true, variants: { medium: { disabled: true } } };

describe("OpenCode keeps the contract of a host", () => {
  let lab: Lab;
  let subject: Subject;

  setUp(async () => {
    lab = await startLab({ plugin: "none", config: { provider: { scripted: { models: { "vendor/m3": thinking } } } } });
    const directory = lab.opencode.project;
    /** The client that OpenCode hands to a plugin is of this older kind. */
    const client = createOpencodeClient({ baseUrl: lab.opencode.url, directory });
    const asked = (words: string) => (request: Parameters<typeof lastUserText>[0]) =>
      lastUserText(request).includes(words);
    subject = {
      host: createOpencodeHost({ client, directory }),
      model: { providerID: "scripted", modelID: "m1" },
      parent: await lab.session(),
      hold: (words) => {
        const held = hang();
        lab.model.when(asked(words), held);
        return (answer) => held.release(text(answer));
      },
      refuse: (words) => lab.model.when(asked(words), failure(401, "no such key")),
      revert: async (sessionID, messageID) => {
        await lab.client.session.revert({ sessionID, messageID }, { throwOnError: true });
      },
      unrevert: async (sessionID) => {
        await lab.client.session.unrevert({ sessionID }, { throwOnError: true });
      },
      archive: async (sessionID, archived) => {
        const time = { archived: archived ? Date.now() : 0 };
        await lab.client.session.update({ sessionID, time }, { throwOnError: true });
      },
      until: async (condition) => {
        await lab.until(condition, { what: "the contract's condition holds" });
      },
    };
    return () => lab.stop();
  });

  describeHost(() => subject);
});
