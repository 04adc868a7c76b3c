import { expect, test } from "vitest";
import { serve } from "../served.ts";

const desk = { id: "srv_desk", label: "desk" };

test("where no fleet is used, the API says so, and no more", async () => {
  const { json, source } = await serve();
  source.launch();
  expect(await json("/v1/fleet")).toEqual({
    ...{ isUsed: false, isReached: false, servers: [], isCut: false },
    tasks: { waiting: 0, elsewhere: 0 },
  });
});

test("the fleet's servers are returned with the tasks that wait for one, and with those that are at work on one", async () => {
  const { json, source, errors } = await serve();
  const projects = [{ project: "shop", slots: 4, atWork: 1, version: "0.1.0" }];
  source.view = {
    ...{ own: { id: "srv_home", label: "laptop" }, isReached: true, isCut: false },
    servers: [{ ...desk, isDrained: true, projects }],
  };
  const since = "2026-11-23T10:00:00.000Z";
  source.launch();
  source.launch({ server: desk });
  source.launch({ waiting: { for: "server", since } });
  source.launch({ waiting: { for: "server", since }, server: desk });
  source.end(source.launch({ server: desk }).sessionID);
  expect(await json("/v1/fleet")).toEqual({
    ...{ isUsed: true, isReached: true, isCut: false },
    server: { id: "srv_home", label: "laptop" },
    servers: [{ ...desk, isDrained: true, projects }],
    tasks: { waiting: 2, elsewhere: 1 },
  });
  expect(errors).toEqual([]);
});

test("an engine that does not answer is no error of the API: it says why", async () => {
  const { json, source } = await serve();
  const problem = "The connection to the fleet is lost.";
  source.view = { own: desk, isReached: false, problem, servers: [], isCut: false };
  expect(await json("/v1/fleet")).toMatchObject({ isUsed: true, isReached: false, problem, servers: [] });
});
