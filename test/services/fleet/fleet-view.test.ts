import { expect, test } from "vitest";
import { type Broker, MOST_PRESENT, PRESENT_WITHIN } from "../../../src/services/fleet/broker.ts";
import { createFleetView } from "../../../src/services/fleet/fleet-view.ts";
import { EVERYBODY, type Presence } from "../../../src/services/fleet/questions.ts";
import { createMemoryBroker } from "../../fakes/memory-broker.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createFleet, runElsewhere } from "./servers.ts";

const OWN = { id: "srv_origin", label: "laptop" };

const present = (label: string, given: Partial<Presence> = {}): Presence => ({
  ...{ v: 1, type: "present", server: { id: `srv_${label}`, label }, pool: "pool", project: "shop" },
  ...{ slots: 4, atWork: 1, version: "0.1.0" },
  ...given,
});

/** A server's view of a fleet in which these answer that they are present. */
const viewOf = (presences: Presence[]) => {
  const clock = createVirtualClock();
  const broker = createMemoryBroker(clock);
  const connection = broker.connect();
  const asked: string[] = [];
  for (const said of presences) {
    connection.onAsked(EVERYBODY, async () => {
      asked.push(said.server.id);
      return said;
    });
  }
  const view = createFleetView(connection, OWN, clock);
  /** Looks, and advances time by as long as workers have to answer. */
  const look = async () => {
    const [seen] = await Promise.all([view(), clock.advance(PRESENT_WITHIN)]);
    return seen;
  };
  return { clock, broker, asked, view, look };
};

const project = { project: "shop", slots: 4, atWork: 1, version: "0.1.0" };

test("the servers are listed by their labels, each once, with its projects and whether it is drained", async () => {
  const { broker, look } = viewOf([
    present("desk"),
    present("cellar"),
    present("desk", { pool: "other", project: "site", slots: 2, atWork: 0 }),
    present("attic"),
  ]);
  broker.drain(["cellar", "srv_attic"]);
  expect(await look()).toEqual({
    ...{ own: OWN, isReached: true, isCut: false },
    servers: [
      { id: "srv_attic", label: "attic", isDrained: true, projects: [project] },
      { id: "srv_cellar", label: "cellar", isDrained: true, projects: [project] },
      {
        ...{ id: "srv_desk", label: "desk", isDrained: false },
        projects: [project, { project: "site", slots: 2, atWork: 0, version: "0.1.0" }],
      },
    ],
  });
});

test("two processes of a server that serve the same project count together", async () => {
  const { look } = viewOf([present("desk"), present("desk", { slots: 3, atWork: 2 })]);
  expect((await look()).servers).toMatchObject([{ label: "desk", projects: [{ slots: 7, atWork: 3 }] }]);
});

test("however often somebody looks, the fleet is asked once in 5 s", async () => {
  const { clock, asked, view, look } = viewOf([present("desk")]);
  await Promise.all([view(), view(), look()]);
  await look();
  expect(asked).toEqual(["srv_desk"]);
  await clock.advance(5_000);
  await look();
  expect(asked).toEqual(["srv_desk", "srv_desk"]);
});

test("while the broker is unreachable, the view says why, and sees the servers when it is back", async () => {
  const { clock, broker, look } = viewOf([present("desk")]);
  broker.cutOff();
  expect(await look()).toEqual({ own: OWN, isReached: false, problem: "no broker", servers: [], isCut: false });
  broker.bringBack();
  await clock.advance(5_000);
  expect(await look()).toMatchObject({ isReached: true, servers: [{ label: "desk" }] });
});

test("a server that may not ask says so, and does not try again for ten minutes: each refusal is an error in its log", async () => {
  const clock = createVirtualClock();
  let times = 0;
  const broker: Pick<Broker, "presences" | "limits"> = {
    presences: async () => {
      times += 1;
      return { is: "refused", message: "Permissions Violation" };
    },
    limits: async () => ({ is: "read", limits: {}, drained: [] }),
  };
  const view = createFleetView(broker, OWN, clock);
  expect(await view()).toMatchObject({ isReached: true, problem: "Permissions Violation", servers: [] });
  await clock.advance(599_000);
  await view();
  expect(times).toBe(1);
  await clock.advance(1_000);
  await view();
  expect(times).toBe(2);
});

test("where the limits cannot be read, nothing is said about who is drained", async () => {
  const { broker, look } = viewOf([present("desk")]);
  broker.loseAnswer("limits");
  expect((await look()).servers).toEqual([{ id: "srv_desk", label: "desk", projects: [project] }]);
});

test("texts of other servers are one line of bounded length", async () => {
  const long = "x".repeat(5_000);
  const { look } = viewOf([
    present("desk", { server: { id: long, label: `a\nb\u202e${long}` }, project: long, version: long }),
  ]);
  const [server] = (await look()).servers;
  const texts = [server?.id, server?.label, server?.projects[0]?.project, server?.projects[0]?.version];
  expect(texts.map((text) => text?.length)).toEqual([201, 201, 201, 201]);
  expect(server?.label).toMatch(/^a b x+…$/);
});

test("of more answers than are read, the view says that there may be more", async () => {
  const many = Array.from({ length: MOST_PRESENT + 1 }, (_, index) => present(`s${index}`));
  const seen = await viewOf(many).look();
  expect(seen).toMatchObject({ isCut: true });
  expect(seen.servers).toHaveLength(MOST_PRESENT);
});

test("a server of a fleet sees those that work for others, itself among them", async () => {
  const fleet = createFleet();
  const origin = fleet.add("srv_origin");
  const worker = fleet.add("srv_1", { work: 2 });
  const [byOrigin, byWorker] = await Promise.all([
    origin.engine.viewFleet?.(),
    worker.engine.viewFleet?.(),
    fleet.clock.advance(PRESENT_WITHIN),
  ]);
  const servers = [{ id: "srv_1", projects: [{ project: "project", slots: 2, atWork: 0 }] }];
  expect(byOrigin).toMatchObject({ own: { id: "srv_origin" }, servers });
  expect(byWorker).toMatchObject({ own: { id: "srv_1" }, servers });
});

const PRESENT = { v: 1, type: "present" } as const;

const idle = (id: string) => ({
  ...{ v: 1, type: "present", server: { id, label: id }, pool: "project", project: "project" },
  ...{ slots: 2, atWork: 0, version: "0.1.0" },
});

test("a server that works for others says that it is there, and how much it works on", async () => {
  const { broker, add } = await runElsewhere(1, 2);
  const asking = broker.connect();
  expect(await asking.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: { ...idle("srv_1"), atWork: 1 } });
  add("srv_2", { work: 2 });
  expect(await asking.ask("srv_2", PRESENT)).toEqual({ is: "answered", answer: idle("srv_2") });
});

test("a server that works for nobody, or has left, says nothing", async () => {
  const { broker, add } = createFleet();
  const asking = broker.connect();
  add("srv_origin");
  expect(await asking.ask("srv_origin", PRESENT)).toEqual({ is: "silent" });
  const worker = add("srv_1", { work: 2 });
  expect(await asking.ask(EVERYBODY, PRESENT)).toEqual({ is: "answered", answer: idle("srv_1") });
  worker.engine.stop();
  expect(await asking.ask(EVERYBODY, PRESENT)).toEqual({ is: "silent" });
});
