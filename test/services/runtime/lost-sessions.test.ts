import { expect, test } from "vitest";
import { createLostSessions } from "../../../src/services/runtime/lost-sessions.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** Sessions in which `ses_below` stands below `ses_lost`; each abort ends when the test ends it. */
const setUp = () => {
  const ends: PromiseWithResolvers<void>[] = [];
  const aborted: string[] = [];
  const asked: string[] = [];
  const sessions = createLostSessions(
    (sessionID) => {
      const end = Promise.withResolvers<void>();
      aborted.push(sessionID);
      ends.push(end);
      return end.promise;
    },
    (sessionID) => {
      asked.push(sessionID);
      return sessionID === "ses_below" ? [sessionID, "ses_lost"] : [sessionID];
    },
  );
  return { sessions, aborted, asked, end: (index: number) => ends[index]?.resolve() };
};

test("a session that is being stopped holds up itself and what is below it, and nothing else", async () => {
  const { sessions, aborted, end } = setUp();
  const stop = sessions.stop("ses_lost");
  expect(aborted).toEqual(["ses_lost"]);
  expect(sessions.untilStopped("ses_lost")).toBe(stop);
  expect(sessions.untilStopped("ses_below")).toBe(stop);
  expect(sessions.untilStopped("ses_other")).toBeUndefined();
  end(0);
  await stop;
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});

test("where no session is being stopped, none above one is looked for", () => {
  const { sessions, asked } = setUp();
  expect(sessions.untilStopped("ses_below")).toBeUndefined();
  expect(asked).toEqual([]);
});

test("a session that is stopped again meanwhile is held up until that has ended, too", async () => {
  const { sessions, end } = setUp();
  const first = sessions.stop("ses_lost");
  const second = sessions.stop("ses_lost");
  end(0);
  await first;
  await settled();
  expect(sessions.untilStopped("ses_lost")).toBe(second);
  end(1);
  await second;
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});

test("a session whose abort failed holds nothing up any more", async () => {
  const sessions = createLostSessions(
    async () => {
      throw new Error("no answer");
    },
    (sessionID) => [sessionID],
  );
  await expect(sessions.stop("ses_lost")).rejects.toThrow("no answer");
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});
