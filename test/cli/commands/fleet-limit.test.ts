import { afterEach, expect, test, vi } from "vitest";
import { createNatsBroker } from "../../../src/services/fleet/nats/nats-broker.ts";
import { LIMITS, LIMITS_SUBJECT } from "../../../src/services/fleet/nats/streams.ts";
import { systemClock } from "../../../src/services/platform/clock.ts";
import { describeWithNats, type NatsServer, type NatsSetting, startNats } from "../../fakes/nats-server.ts";
import { commandHere } from "../command-line.ts";

const noLog = { info: () => undefined, error: () => undefined };
const HAIKU = "anthropic/claude-haiku-4-5";

const refused = (error: string | RegExp) => ({ code: 2, out: "", error: expect.stringMatching(error) });

test.each([
  [["claude"], '"claude" is no model: write it as provider/model'],
  [[`${HAIKU}#high`, "2"], "is no model: .* without a variant"],
  [[HAIKU], `Say how many tasks of ${HAIKU} may be at work at once: a number from 1 on, or none`],
  [[HAIKU, "0"], "a number from 1 on, or none"],
  [[HAIKU, "2.5"], "a number from 1 on, or none"],
  [[HAIKU, "-1"], "a number from 1 on, or none"],
  [[HAIKU, "2", "3"], "Too many arguments"],
  [[HAIKU, "2"], "--url nats://10.0.0.5:4222"],
])("fleet limit %j says what to write", async (args, words) => {
  expect(await commandHere(["fleet", "limit", ...args])).toEqual(refused(words));
});

describeWithNats("fleet limit and fleet drain, on a real NATS server", () => {
  const started: NatsServer[] = [];
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop();
  });
  const nats = async (setting?: NatsSetting) => {
    const server = await startNats({}, setting);
    started.push(server);
    return server;
  };
  const limit = (server: NatsServer, ...args: string[]) =>
    commandHere(["fleet", "limit", ...args, "--url", server.url]);
  const status = async ({ url }: NatsServer, ...args: string[]) =>
    (await commandHere(["fleet", "status", "--url", url, ...args])).out;

  /** The limits as a server of the fleet reads them. */
  const readByServer = async ({ url }: NatsServer) => {
    const broker = createNatsBroker({ url, credentials: undefined }, "a test", systemClock, noLog);
    try {
      return await vi.waitFor(
        async () => {
          const read = await broker.limits();
          if (read.is !== "read") throw new Error(read.message);
          return read.limits;
        },
        { timeout: 10_000, interval: 20 },
      );
    } finally {
      await broker.close();
    }
  };

  test("sets a limit, changes it and lifts it, says what it was, and the servers of the fleet read it", async () => {
    const server = await nats();
    const said = async (...args: string[]) => (await limit(server, ...args)).out.replaceAll(/\s+/g, " ");
    expect((await limit(server)).out).toBe("No model is limited in this fleet.\n");
    const now = `${HAIKU}: at most 4 of its tasks may be at work in the fleet at once`;
    expect(await said(HAIKU, "4")).toBe(`${now}; before, any number. `);
    expect(await said(HAIKU, "4")).toBe(`${now}, as before. `);
    expect(await readByServer(server)).toEqual({ [HAIKU]: 4 });
    expect(await said(HAIKU, "2")).toContain("before, at most 4.");
    expect(JSON.parse((await limit(server, HAIKU, "none", "--json")).out)).toEqual({
      url: server.url,
      limits: { [HAIKU]: null },
      before: { [HAIKU]: 2 },
    });
    expect(await readByServer(server)).toEqual({ [HAIKU]: null });
  });

  test("lists the limits, which status shows as well", async () => {
    const server = await nats();
    await limit(server, "openai/gpt-5", "3");
    await limit(server, HAIKU, "12");
    await limit(server, "openai/gpt-5", "none");
    const { out } = await limit(server);
    expect(out).toMatch(/^MODEL +LIMIT\nanthropic\/claude-haiku-4-5 +12\nopenai\/gpt-5 +none\n$/);
    expect(await status(server)).toContain(out);
    const limits = { [HAIKU]: 12, "openai/gpt-5": null };
    expect(JSON.parse((await limit(server, "--json")).out)).toEqual({ url: server.url, limits });
    expect(JSON.parse(await status(server, "--json"))).toMatchObject({ limits });
  });

  test("a model that never had a limit is not written down when its limit is lifted", async () => {
    const server = await nats();
    expect((await limit(server, HAIKU, "none")).out).toContain("any number of its tasks may be at work");
    expect(await server.manage((jsm) => jsm.streams.getMessage(LIMITS, { last_by_subj: LIMITS_SUBJECT }))).toBeNull();
  });

  test("people who change limits at the same time lose nothing of each other", async () => {
    const server = await nats();
    const models = Array.from({ length: 8 }, (_, index) => `provider/model-${index}`);
    const ended = await Promise.all(models.map((model, index) => limit(server, model, String(index + 1))));
    expect(ended.map(({ error }) => error)).toEqual(models.map(() => ""));
    expect(await readByServer(server)).toEqual(Object.fromEntries(models.map((model, index) => [model, index + 1])));
  });

  test("limits of another version are left alone", async () => {
    const server = await nats();
    const theirs = JSON.stringify({ v: 2, models: { [HAIKU]: { perHour: 3 } } });
    await server.manage((jsm) => jsm.jetstream().publish(LIMITS_SUBJECT, theirs));
    const words = "were written by another version of opencode-taskchart. Use that one.";
    expect(await limit(server)).toEqual(refused(words));
    expect(await limit(server, HAIKU, "1")).toEqual(refused(words));
    const stored = await server.manage((jsm) => jsm.streams.getMessage(LIMITS, { last_by_subj: LIMITS_SUBJECT }));
    expect(stored?.string()).toBe(theirs);
    expect(await status(server)).toContain("No job waits");
  });

  test("says so where the fleet is not set up", async () => {
    const server = await nats({ isSetUp: false });
    const words = `has no place for limits yet. Run opencode-taskchart fleet init --url ${server.url}`;
    expect(await limit(server)).toEqual(refused(words));
    expect(await limit(server, HAIKU, "1")).toEqual(refused(words));
    expect(await commandHere(["fleet", "drain", "desk", "--url", server.url])).toEqual(refused(words));
  });

  test("says so where the credentials do not permit it", async () => {
    const server = await nats({
      configuration: `no_auth_user: reader
        authorization { users: [{ user: reader, password: r, permissions: { publish: { deny: "taskchart.limits" } } }] }`,
    });
    await commandHere(["fleet", "init", "--url", server.url]);
    expect(await limit(server, HAIKU, "1")).toEqual(refused("does not permit that: .* Use credentials that may"));
  });

  test("names servers that take no more jobs, until that is undone; limits stay, and drained servers stay beside limits", async () => {
    const server = await nats();
    const run = (...args: string[]) => commandHere(["fleet", ...args, "--url", server.url]);
    expect((await run("drain")).out).toBe("Every server takes jobs.\n");
    await run("limit", "openai/gpt-5", "3");
    expect((await run("drain", "desk")).out).toContain("Server desk takes no more jobs");
    expect((await run("drain", "tower", "--json")).out).toContain('"tower"');
    await run("limit", "openai/gpt-5", "4");
    expect((await run("status")).out).toContain("Takes no more jobs: desk, tower.");
    expect(JSON.parse((await run("status", "--json")).out)).toMatchObject({
      limits: { "openai/gpt-5": 4 },
      drained: ["desk", "tower"],
    });
    expect((await run("drain", "desk", "--undo")).out).toBe("Server desk takes jobs again.\n");
    expect((await run("drain")).out).toBe("tower\n");
  });
});
