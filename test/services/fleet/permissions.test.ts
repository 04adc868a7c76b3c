import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { readCredentials } from "../../../src/services/fleet/nats/nats-connection.ts";
import { setUpFleet } from "../../../src/services/fleet/nats/streams.ts";
import { EVERYBODY } from "../../../src/services/fleet/questions.ts";
import { commandHere } from "../../cli/command-line.ts";
import { connectBroker, openBroker, reached } from "../../fakes/connect-broker.ts";
import { describeWithNats, startNats } from "../../fakes/nats-server.ts";
import { type NatsUser, newNatsUsers } from "../../fakes/nats-users.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { claimed, jobOf, PRESENT, presence, QUEUE, RUN } from "./broker-contract.ts";
import { createFleet, texts, workOf } from "./servers.ts";

describeWithNats("NATS with rights for each server", () => {
  test("refuses for good what a server may not do: it need not try again", async () => {
    const server = await startNats(
      {},
      {
        configuration: `no_auth_user: worker
        authorization {
          users: [{ user: worker, password: w, permissions: { publish: { deny: "taskchart.job.>" } } }]
        }`,
      },
    );
    onTestFinished(server.stop);
    await server.manage((jsm) => setUpFleet(jsm, { lease: 2_000, keep: 86_400_000, replicas: 1 }));
    const broker = await connectBroker(server, "a worker");
    expect(await broker.enqueue(jobOf())).toEqual({
      is: "refused",
      message: expect.stringContaining("Permissions Violation for Publish"),
    });
    expect((await broker.append(RUN, claimed("may"), 0)).is).toBe("stored");
  });

  /** The configuration that docs/fleet.md has, with keys in the place of the names. */
  const documented = (users: Record<"UADMIN" | "ULAPTOP" | "UDESK", NatsUser>): string => {
    const page = readFileSync(fileURLToPath(new URL("../../../docs/fleet.md", import.meta.url)), "utf8");
    const [, text = ""] = /```\n(# nats-server\.conf\n[^`]*)```/.exec(page) ?? [];
    const block = text.replace(/^jetstream \{ store_dir.*$/m, "");
    expect(block).not.toBe(text);
    return block.replaceAll(/\bU(?:ADMIN|LAPTOP|DESK)\b/g, (name) => users[name as keyof typeof users].key);
  };

  const LEASE = 60_000;

  /** A NATS server with the documented rights, on which the user who may has set up a fleet. */
  const guarded = async (change = (configuration: string) => configuration) => {
    const { users, remove } = newNatsUsers(["UADMIN", "ULAPTOP", "UDESK"]);
    onTestFinished(remove);
    const server = await startNats({}, { configuration: change(documented(users)) });
    onTestFinished(server.stop);
    const fleet = (action: string[], file?: string) =>
      commandHere(["fleet", ...action, "--url", server.url, ...(file ? ["--credentials", file] : [])]);
    expect(await fleet(["init"], users.UADMIN.file)).toMatchObject({ code: 0, error: "" });
    const noticed: string[] = [];
    const log = {
      info: () => undefined,
      error: (text: string, data?: object) => noticed.push(text + JSON.stringify(data)),
    };
    const connect = (user: NatsUser) =>
      openBroker(server.url, "a server", { credentials: readCredentials(user.file), log });
    const reach = (user: NatsUser) => reached(connect(user));
    return { users, fleet, connect, reach, noticed };
  };

  test("as documented, lets in nobody whom it does not know, and only its admin sets it up", async () => {
    const { users, fleet } = await guarded();
    expect((await fleet(["status"])).error).toContain("does not let you in");
    expect((await fleet(["init", "--keep", "1d"], users.ULAPTOP.file)).error).toContain("does not permit that");
    expect((await fleet(["init", "--keep", "1d"], users.UDESK.file)).error).toContain("does not permit that");
    expect((await fleet(["limit", "fake/small", "1"], users.UDESK.file)).error).toContain("does not permit that");
    expect((await fleet(["limit", "fake/small", "1"], users.UADMIN.file)).out).toContain("at most 1");
    expect((await fleet(["status"], users.UADMIN.file)).out).toContain("No job waits");
  });

  test("as documented, permits an origin to queue jobs and not to take them, and a worker to take them and not to queue any", async () => {
    const { users, reach } = await guarded();
    const [origin, worker] = [await reach(users.ULAPTOP), await reach(users.UDESK)];
    expect(await worker.enqueue(jobOf())).toMatchObject({ is: "refused" });
    expect(await origin.enqueue(jobOf())).toEqual({ is: "stored" });
    expect(await origin.take(QUEUE)).toMatchObject({ is: "refused" });
    expect(await origin.acquire("run.a", "origin", 0)).toMatchObject({ is: "refused" });
    const taken = await worker.take(QUEUE);
    if (taken.is !== "taken" || !taken.delivery) throw new Error("The job was not taken.");
    expect(taken.delivery.job).toEqual(jobOf());
    await taken.delivery.renew();
    await taken.delivery.done();
    expect(await origin.isQueued(jobOf())).toEqual({ is: "read", isQueued: false });
  });

  test("as documented, permits an origin to ask and not to answer, and a worker to answer and to ask all who is there", async () => {
    const { users, fleet, reach, noticed } = await guarded();
    const [origin, worker] = [await reach(users.ULAPTOP), await reach(users.UDESK)];
    for (const one of ["srv_desk", EVERYBODY]) worker.onAsked(one, async () => presence("srv_desk"));
    await worker.read(RUN);
    expect((await fleet(["status"], users.UADMIN.file)).out).toMatch(/srv_desk +1\/4 +takes jobs/);
    expect(await origin.ask("srv_desk", PRESENT)).toEqual({ is: "answered", answer: presence("srv_desk") });
    for (const one of [origin, worker])
      expect(await one.presences()).toEqual({ is: "read", presences: [presence("srv_desk")] });
    expect(noticed).toEqual([]);
    expect(await worker.ask("srv_desk", PRESENT)).toMatchObject({ is: "refused" });
    origin.onAsked("srv_origin", async () => presence("srv_origin"));
    const refusal = expect.stringContaining('Permissions Violation for Subscription to \\"taskchart.ask.srv_origin');
    await vi.waitFor(() => expect(noticed).toContainEqual(refusal), { timeout: PATIENCE_MS, interval: 20 });
  });

  /** Confines an origin to the logs of its own runs, as the page describes it. */
  const confined = (configuration: string): string => {
    const [before = "", launches = "", after = ""] = configuration.split(/(?=^LAUNCHES|^WORKS)/m);
    return [before, launches.replaceAll("taskchart.run.>", "taskchart.run.srv_origin.>"), after].join("");
  };

  test("as documented, confines an origin to its own logs", async () => {
    const { users, reach } = await guarded(confined);
    const origin = await reach(users.ULAPTOP);
    expect(await origin.append({ ...RUN, origin: "srv_other" }, claimed("may not"), 0)).toMatchObject({
      is: "refused",
    });
    expect(await origin.append({ ...RUN, origin: "srv_origin" }, claimed("may"), 0)).toMatchObject({ is: "stored" });
  });

  test.each([
    ["for every origin", undefined],
    ["for an origin that is confined to its own logs", confined],
  ])("as documented %s, has a task run on another server, and delivered once", async (_, change) => {
    const { users, fleet: command, connect, noticed } = await guarded(change);
    await command(["limit", "fake/small", "1"], users.UADMIN.file);
    const fleet = createFleet();
    const origin = fleet.add("srv_origin", { connect: () => connect(users.ULAPTOP) });
    const worker = fleet.add("srv_desk", { work: 1, connect: () => connect(users.UDESK) });
    const id = await origin.launch({ agent: "explore", prompt: "Find it." });
    await fleet.until(() => expect(workOf(worker)).toHaveLength(1));
    await fleet.until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
    const cancelled = await origin.launch({ agent: "explore", prompt: "Never mind." });
    await fleet.until(() => expect(origin.task(cancelled).state).toBe("running.fleet.unclaimed.enqueued"));
    await origin.call("cancel", { task_id: cancelled });
    await fleet.clock.advance(LEASE);
    worker.host.finish(workOf(worker)[0] ?? "", "It is in a.txt.");
    await fleet.until(() => expect(workOf(worker)).toEqual([]));
    await fleet.until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin).filter((text) => text.includes("It is in a.txt."))).toHaveLength(1);
    expect(noticed).toEqual([]);
  });
});
