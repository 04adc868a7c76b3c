import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MessageInfo } from "../../../../src/machines/host-events.ts";
import {
  COMPARED_MESSAGES,
  isForkOfLaunch,
  mayBeFork,
} from "../../../../src/services/engine/launch/pending-launches.ts";

const LAUNCHED = 1_000_000;

const message = (role: MessageInfo["role"], createdAt: number, completedAt?: number): MessageInfo => ({
  id: `msg_${createdAt}`,
  role,
  createdAt,
  promptID: undefined,
  completedAt,
  finish: undefined,
  error: undefined,
  isSummary: false,
});

/** Turns before a launch, oldest first: each begins with a person's message, and takes one step or more. */
const turns = fc
  .array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 })
  .map((steps) => steps.flatMap((count) => ["user" as const, ...Array<"assistant">(count).fill("assistant")]))
  // The last message is the one that launches.
  .map((roles) =>
    roles.map((role, at) => {
      const createdAt = LAUNCHED - 1_000 * (roles.length - at);
      const isDone = role === "assistant" && at < roles.length - 1;
      return message(role, createdAt, isDone ? createdAt + 500 : undefined);
    }),
  );

const newest = (messages: MessageInfo[]) => messages.slice(-COMPARED_MESSAGES);

test("the copy requested by a launch is told apart from every copy that people can make", () => {
  fc.assert(
    fc.property(turns, (parent) => {
      const copied = parent.slice(0, -1);
      expect(isForkOfLaunch(newest(copied), parent, LAUNCHED)).toBe(true);
      const ends = parent.flatMap(({ role }, at) => (role === "user" ? at : []));
      for (const copy of [parent, ...ends.map((end) => parent.slice(0, end))])
        expect(isForkOfLaunch(newest(copy), parent, LAUNCHED)).toBe(false);
    }),
    { seed: 1 },
  );
});

test("messages in the parent since the launch change nothing", () => {
  fc.assert(
    fc.property(turns, (parent) => {
      const launching = { ...parent.at(-1), completedAt: LAUNCHED + 10 } as MessageInfo;
      const now = [...parent.slice(0, -1), launching, message("assistant", LAUNCHED + 20, LAUNCHED + 30)];
      expect(isForkOfLaunch(newest(parent.slice(0, -1)), now, LAUNCHED)).toBe(true);
      expect(isForkOfLaunch(newest(now), now, LAUNCHED)).toBe(false);
    }),
    { seed: 1 },
  );
});

describe("nothing is proven", () => {
  const parent = [message("user", 1), message("assistant", 2, 3), message("user", 4), message("assistant", 5)];

  test.each([
    ["by a copy that is not whole", parent.slice(0, 2), parent],
    ["by an empty copy", [], parent],
    ["by an empty copy of a conversation that begins with the launch", [], parent.slice(3)],
    ["by a copy that has grown", [...parent.slice(0, 3), message("user", LAUNCHED + 1)], parent],
    ["by a copy of another conversation", [message("user", 1), message("assistant", 2), message("user", 7)], parent],
    ["when the message that launched is gone", parent.slice(0, 3), parent.slice(0, 3)],
    ["when the message that launched cannot be in sight", parent.slice(0, 3), parent.slice(2)],
  ])("%s", (_, copy, of) => {
    expect(isForkOfLaunch(copy, of, LAUNCHED)).toBe(false);
  });
});

test("only a root session with the title of a fork, created since the launch, may be one", () => {
  const fork = { id: "ses_1", parentID: undefined, title: "a (fork #2)", metadata: {}, createdAt: LAUNCHED };
  expect(mayBeFork(fork, LAUNCHED)).toBe(true);
  expect(mayBeFork({ ...fork, parentID: "ses_0" }, LAUNCHED)).toBe(false);
  expect(mayBeFork({ ...fork, createdAt: LAUNCHED - 1 }, LAUNCHED)).toBe(false);
  expect(mayBeFork({ ...fork, title: "a fork" }, LAUNCHED)).toBe(false);
});
