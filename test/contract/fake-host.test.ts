import { beforeAll, describe } from "vitest";
import { systemClock } from "../../src/services/platform/clock.ts";
import { createFakeHost, type FakeHost, MODEL } from "../fakes/fake-host.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { describeHost, ids, type Subject } from "./host-contract.ts";

describe("the fake host keeps the contract of a host", () => {
  let subject: Subject;

  beforeAll(() => {
    const fake: FakeHost = createFakeHost(systemClock, ids);
    fake.addSession("ses_parent");
    fake.modelList.push({ ...MODEL, modelID: "vendor/m3", variants: ["low", "high"] });
    const held = new Map<string, string | null>();
    const refusedTexts = new Set<string>();
    /** The fake's sessions wait for the test to act; this acts as their model. */
    const play = () => {
      for (const id of fake.sessionIDs()) {
        const session = fake.at(id);
        const asked = session.messages.findLast(({ role }) => role === "user")?.text ?? "";
        if (!session.busy) continue;
        if (refusedTexts.has(asked)) fake.fail(id, { name: "APIError", message: "401" });
        else if (held.get(asked) !== null) fake.finish(id, held.get(asked) ?? "ok");
      }
    };
    subject = {
      host: fake,
      model: MODEL,
      parent: "ses_parent",
      hold: (text) => {
        held.set(text, null);
        return (answer) => held.set(text, answer);
      },
      refuse: (text) => refusedTexts.add(text),
      revert: async (id, messageID) => fake.revert(id, messageID),
      unrevert: async (id) => fake.unrevert(id),
      archive: async (id, archived) => fake.archive(id, archived),
      until: async (condition) => {
        for (let round = 0; round < 10; round += 1) {
          await settled();
          if (await condition()) return;
          play();
        }
        throw new Error("the condition never came to hold");
      },
    };
  });

  describeHost(() => subject);
});
