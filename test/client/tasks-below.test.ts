import { expect, test } from "vitest";
import { createStatusApiClient, tasksBelow } from "../../src/client/status-api-client.ts";
import { serve, temporaryFolder } from "../services/http/served.ts";

/** A conversation with a task that has ended and launched another one, which launched one more; and another conversation. */
const scene = async () => {
  const { source, folder } = await serve();
  source.launch({ sessionID: "ses_lead", parentSessionID: "ses_talk" });
  source.launch({ sessionID: "ses_inner", parentSessionID: "ses_lead", parentTaskId: "ses_lead" });
  source.launch({ sessionID: "ses_deep", parentSessionID: "ses_inner", parentTaskId: "ses_inner" });
  source.launch({ sessionID: "ses_next", parentSessionID: "ses_talk" });
  source.launch({ sessionID: "ses_stranger", parentSessionID: "ses_other" });
  for (const id of ["ses_lead", "ses_inner", "ses_deep"]) source.end(id);
  const client = createStatusApiClient(folder);
  return async (sessionID: string, most = 100) => {
    const result = await tasksBelow(client, sessionID, most);
    return result.ok ? result.value.map((task) => task.sessionID) : result.kind;
  };
};

test("the tasks of a session are found at any depth, ended or not, and no others", async () => {
  const below = await scene();
  expect(await below("ses_talk")).toEqual(["ses_next", "ses_lead", "ses_inner", "ses_deep"]);
  expect(await below("ses_inner")).toEqual(["ses_deep"]);
  expect(await below("ses_nobody")).toEqual([]);
});

test("no more are returned than wanted: those nearest to the session", async () => {
  const below = await scene();
  expect(await below("ses_talk", 3)).toEqual(["ses_next", "ses_lead", "ses_inner"]);
  expect(await below("ses_talk", 1)).toEqual(["ses_next"]);
});

test("without a server the failure is returned", async () => {
  const client = createStatusApiClient(temporaryFolder());
  expect(await tasksBelow(client, "ses_talk", 9)).toMatchObject({ ok: false, kind: "notRunning" });
});
