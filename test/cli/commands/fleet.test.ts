import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { DEFAULTS } from "../../../src/cli/fleet/settings.ts";
import { EVERYBODY } from "../../../src/services/fleet/questions.ts";
import { type Entry, type Job, runLease } from "../../../src/services/fleet/wire-messages.ts";
import { connectBroker } from "../../fakes/connect-broker.ts";
import { describeWithNats, type NatsServer, type NatsSetting, startNats } from "../../fakes/nats-server.ts";
import { commandHere } from "../command-line.ts";

const refused = (error: string | RegExp, code = 2) => ({ code, out: "", error: expect.stringMatching(error) });

describe.each(["init", "status", "limit"])("fleet %s", (action) => {
  test("without an address says what to write", async () => {
    expect(await commandHere(["fleet", action])).toEqual(refused("--url nats://10.0.0.5:4222"));
  });

  test("refuses an address with a password, and does not repeat it", async () => {
    const { error, code } = await commandHere(["fleet", action, "--url", "nats://me:geheim@localhost:4222"]);
    expect(error).toBe(
      "--url must not contain a user or a password: those belong in the file that --credentials names.\n",
    );
    expect(code).toBe(2);
  });

  test("refuses what is no address of a NATS server", async () => {
    const ended = await commandHere(["fleet", action, "--url", "http://localhost:4222"]);
    expect(ended).toEqual(refused("--url must be the address of a NATS server, such as"));
  });

  test("says so when no NATS server answers", async () => {
    const ended = await commandHere(["fleet", action, "--url", "nats://127.0.0.1:1"]);
    expect(ended).toEqual(refused("No NATS server can be reached at nats://127.0.0.1:1: .*refused", 4));
  });

  test("says which credentials file cannot be read", async () => {
    const ended = await commandHere([
      "fleet",
      action,
      "--url",
      "nats://127.0.0.1:1",
      "--credentials",
      "/nowhere/a.creds",
    ]);
    expect(ended).toEqual(refused("The credentials of /nowhere/a.creds cannot be read: .*no such file"));
  });

  test("says so when the file holds no credentials", async () => {
    const folder = mkdtempSync(join(tmpdir(), "taskchart-creds-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "a.creds");
    writeFileSync(file, "nothing", { mode: 0o600 });
    const ended = await commandHere(["fleet", action, "--url", "nats://127.0.0.1:1", "--credentials", file]);
    expect(ended).toEqual(refused("The credentials of .*a.creds cannot be read: unable to parse credentials"));
  });
});

const JOB: Job = {
  ...{ v: 1, at: 1, origin: "srv_origin", task: "ses_1", run: 0, pool: "b2c4", priority: 1, key: "" },
  ...{ commit: "c0ffee", project: "shop", attempts: 2, agent: "explore", description: "Look" },
  ...{ prompt: "Look around.", denied: [], depth: 1 },
};

const claimedBy = (id: string, label: string, at: number): Entry => ({
  ...{ v: 1, at, type: "claimed", nonce: `${id} ${at}` },
  server: { id, label },
});

describeWithNats("fleet, on a real NATS server", () => {
  const started: NatsServer[] = [];
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop();
  });
  const nats = async (setting?: NatsSetting) => {
    const server = await startNats({ lease: 60_000, keep: 86_400_000 }, setting);
    started.push(server);
    return server;
  };
  const fleet = (server: NatsServer, action: string, ...args: string[]) =>
    commandHere(["fleet", action, "--url", server.url, ...args]);
  const json = async (server: NatsServer, action: string, ...args: string[]) => {
    const { out, error } = await fleet(server, action, "--json", ...args);
    expect(error).toBe("");
    return JSON.parse(out);
  };

  test("init sets a fleet up, which status then shows", async () => {
    const server = await nats({ isSetUp: false });
    const before = await fleet(server, "status");
    expect(before).toMatchObject({ code: 1, error: "" });
    expect(before.out.replaceAll(/\s+/g, " ")).toContain(
      "The fleet is not set up: TASKCHART_JOBS, TASKCHART_RUNS, TASKCHART_LEASES, TASKCHART_LIMITS are missing.",
    );
    const made = await fleet(server, "init", "--keep", "2d");
    expect(made).toMatchObject({ code: 0, error: "" });
    expect(made.out.replaceAll(/\s+/g, " ")).toContain(
      `The fleet is set up on ${server.url}: lease 1m, kept for 2d, one copy. Each OpenCode enters it with this option of the plugin: "fleet": { "url": "${server.url}" }`,
    );
    expect(await json(server, "status")).toEqual({
      url: server.url,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      missing: [],
      settings: { lease: 60_000, keep: 172_800_000, replicas: 1 },
      ...{ limits: {}, drained: [], pools: [], runs: [], servers: [] },
    });
    expect((await fleet(server, "status")).out).toContain("No job waits, 0 runs are under way.");
  });

  test("init changes what is given, says so, and leaves the rest and the jobs as they are", async () => {
    const server = await nats();
    const broker = await connectBroker(server);
    await broker.enqueue(JOB);
    const changed = await fleet(server, "init", "--lease", "30s");
    expect(changed.out).toContain(`The fleet on ${server.url} is changed: lease 1m → 30s.`);
    expect(changed.out).toContain("restart each of them");
    const again = await fleet(server, "init");
    expect(again.out).toContain("has these settings already: lease 30s, kept for 1d, one copy.");
    expect(again.out).not.toContain("restart");
    expect(await json(server, "init", "--keep", "3d")).toEqual({
      url: server.url,
      settings: { lease: 30_000, keep: 259_200_000, replicas: 1 },
      before: { lease: 30_000, keep: 86_400_000, replicas: 1 },
      made: [],
    });
    expect(await json(server, "status")).toMatchObject({ pools: [{ waiting: 1 }] });
  });

  test.each([
    [["--lease", "soon"], "--lease takes a duration such as 10m or 24h"],
    [["--lease", "10ms"], "--lease must be at least 1s."],
    [["--keep", "30s"], "--keep must be longer than --lease."],
    [["--replicas", "2"], "Allowed choices are 1, 3, 5."],
    [["--replicas", "3"], "--replicas 3 needs a cluster of at least 3 NATS servers"],
  ])("init %j is refused, also where a fleet is set up, and changes nothing", async (args, words) => {
    const server = await nats({ isSetUp: false });
    expect(await fleet(server, "init", ...args)).toEqual(refused(words));
    await fleet(server, "init");
    expect(await fleet(server, "init", ...args)).toEqual(refused(words));
    expect(await json(server, "status")).toMatchObject({ settings: DEFAULTS });
  });

  test("status shows what waits, what runs and where, and since when", async () => {
    const server = await nats();
    const broker = await connectBroker(server);
    await broker.enqueue(JOB);
    await broker.enqueue({ ...JOB, task: "ses_2" });
    await broker.enqueue({ ...JOB, task: "ses_3", origin: "srv_desk", pool: "of another", project: "site" });
    const began = Date.now() - 65_000;
    await broker.append(JOB, claimedBy("srv_gone", "tower", began - 1_000), undefined);
    await broker.append(JOB, claimedBy("srv_desk", "desk", began), undefined);
    await broker.append(JOB, { v: 1, at: began, type: "stopRequested" }, undefined);
    await broker.acquire(runLease(JOB), "srv_desk", 0);
    // It has taken the lease, and not written its claim yet.
    await broker.acquire(runLease({ ...JOB, task: "ses_3", origin: "srv_desk" }), "srv_new", 0);

    const status = await json(server, "status");
    expect(status.pools).toEqual([
      { pool: "b2c4", project: "shop", waiting: 1, taken: 1 },
      { pool: "of another", project: "site", waiting: 0, taken: 1 },
    ]);
    expect(status.runs).toEqual([
      {
        ...{ task: "ses_3", run: 0, origin: "srv_desk", originLabel: "desk", pool: "of another" },
        server: "srv_new",
      },
      {
        ...{ task: "ses_1", run: 0, origin: "srv_origin", pool: "b2c4" },
        ...{ server: "srv_desk", serverLabel: "desk", since: began },
      },
    ]);
    expect(status.servers).toEqual([
      { id: "srv_desk", label: "desk", runs: 1, isAnswering: false, isDrained: false, projects: [] },
      { id: "srv_new", runs: 1, isAnswering: false, isDrained: false, projects: [] },
    ]);
    const { out } = await fleet(server, "status");
    expect(out).toMatch(/ses_1 +desk +srv_origin +1m 5s +b2c4/);
    expect(out).toContain("1 job waits, 2 runs are under way.");
  });

  test("status shows every server that works for others, idle ones too, and which of them do not answer", async () => {
    const server = await nats();
    const broker = await connectBroker(server);
    await broker.enqueue(JOB);
    await broker.append(JOB, claimedBy("srv_gone", "tower", Date.now()), undefined);
    await broker.acquire(runLease(JOB), "srv_gone", 0);
    const shop = { pool: "b2c4", project: "shop", version: "0.1.0" };
    const desk = { v: 1, type: "present", server: { id: "srv_desk", label: "desk" }, ...shop } as const;
    // Two processes of one server have the same project open.
    broker.onAsked(EVERYBODY, async () => ({ ...desk, slots: 4, atWork: 1 }));
    broker.onAsked(EVERYBODY, async () => ({ ...desk, slots: 4, atWork: 0 }));
    broker.onAsked(EVERYBODY, async () => ({ ...desk, pool: "c3", project: "site", slots: 4, atWork: 0 }));
    broker.onAsked(EVERYBODY, async () => ({
      ...desk,
      server: { id: "srv_idle", label: "idle" },
      slots: 2,
      atWork: 0,
    }));
    broker.onAsked(EVERYBODY, async () => ({ ...desk, slots: -1, atWork: 0 }));
    await broker.read(JOB);
    await fleet(server, "drain", "idle");

    const status = await json(server, "status");
    const site = { ...shop, pool: "c3", project: "site", slots: 4, atWork: 0 };
    expect(status.servers).toEqual([
      {
        ...{ id: "srv_desk", label: "desk", runs: 0, isAnswering: true, isDrained: false },
        projects: [{ ...shop, slots: 8, atWork: 1 }, site],
      },
      {
        ...{ id: "srv_idle", label: "idle", runs: 0, isAnswering: true, isDrained: true },
        projects: [{ ...shop, slots: 2, atWork: 0 }],
      },
      { id: "srv_gone", label: "tower", runs: 1, isAnswering: false, isDrained: false, projects: [] },
    ]);
    const { out } = await fleet(server, "status");
    expect(out).toMatch(/desk +1\/8 +takes jobs +shop/);
    expect(out).toMatch(/desk +0\/4 +takes jobs +site/);
    expect(out).toMatch(/idle +0\/2 +drained +shop/);
    expect(out).toMatch(/tower +1 +does not answer/);
  });

  test("status shows what it can where it may not ask the servers, and says so", async () => {
    const rights = `{ publish: { deny: "taskchart.ask.>" } }`;
    const server = await nats({
      configuration: `no_auth_user: person
        authorization { users: [{ user: person, password: p, permissions: ${rights} }] }`,
    });
    await fleet(server, "init");
    const broker = await connectBroker(server);
    await broker.acquire(runLease(JOB), "srv_desk", 0);
    const { out, error, code } = await fleet(server, "status");
    expect({ error, code }).toEqual({ error: "", code: 0 });
    expect(out.replaceAll(/\s+/g, " ")).toContain("The servers could not be asked who is there, so that idle ones");
    expect(out).toMatch(/srv_desk +1 /);
  });

  test("a stream that is missing is named, and init makes it", async () => {
    const server = await nats();
    await server.manage((jsm) => jsm.streams.delete("TASKCHART_LIMITS"));
    const status = await fleet(server, "status");
    expect(status.out.replaceAll(/\s+/g, " ")).toContain("The fleet is not set up: TASKCHART_LIMITS is missing. Run");
    expect(status.code).toBe(1);
    expect((await fleet(server, "init")).out).toContain("What was missing is made: TASKCHART_LIMITS.");
    expect((await fleet(server, "status")).code).toBe(0);
  });

  describe.each(["init", "status", "limit"])("%s", (action) => {
    test("says so when the NATS server has no JetStream", async () => {
      const server = await nats({ hasJetStream: false });
      expect(await fleet(server, action)).toEqual(refused(/has no JetStream, .* start nats-server with -js/));
    });

    test("says so when the NATS server wants credentials", async () => {
      const server = await nats({ configuration: 'authorization { token: "a secret" }' });
      expect(await fleet(server, action)).toEqual(refused(/does not let you in: .* Name the credentials file with/));
    });

    test("says so when that is not permitted", async () => {
      const rights = `{ publish: { deny: "$JS.API.STREAM.>" } }`;
      const server = await nats({
        configuration: `no_auth_user: worker
          authorization { users: [{ user: worker, password: w, permissions: ${rights} }] }`,
      });
      expect(await fleet(server, action)).toEqual(refused(/does not permit that: .* Use credentials that may manage/));
    });
  });
});
