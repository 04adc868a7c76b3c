import { expect, test } from "vitest";
import { describeWithNats } from "../fakes/nats-server.ts";
import { type Fleet, type Server, startFleet, taskOf } from "./fleet-servers.ts";
import { lastUserText } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { inChild } from "./tasks-and-notices.ts";

describeWithNats("Tasks that wait for a server with one slot", () => {
  let fleet: Fleet;
  let home: Server;

  setUp(async () => {
    fleet = await startFleet(30_000);
    home = await fleet.add("laptop", { fleet: { offer: ["general"] }, options: { toolsets: ["subtasks"] } });
    return () => fleet?.stop();
  });

  test("are begun by it in the order of their priorities, one after the other", async () => {
    const priorities = ["low", "normal", "high"];
    for (const priority of priorities) fleet.model.when(inChild(priority), text(`${priority} is done`));
    const subtasks = priorities.map((priority) => ({
      name: "create_subtask_general",
      args: { title: priority, intent: priority, priority },
    }));
    fleet.model.when("have it done", [calls(subtasks), text("all done")]);
    const parent = await home.session();
    await home.prompt(parent, "have it done");
    await served(home);
    const areOffered = async () => {
      const tasks = await Promise.all(storedTasks(home).map(({ id }) => taskOf(home, id)));
      return tasks.filter(({ waiting }) => waiting?.for === "server").length === 3;
    };
    await home.until(areOffered, { what: "all three wait for a server" });
    await fleet.addWorker("booth", { fleet: { work: 1 } });
    await home.idle(parent);
    const requests = fleet.model.requests.filter((request) => priorities.includes(lastUserText(request)));
    expect(requests.map(lastUserText)).toEqual(["high", "normal", "low"]);
  });
});
