import { afterEach, expect, test } from "vitest";
import { describeWithNats, type NatsServer, startNats } from "../../fakes/nats-server.ts";
import { commandHere } from "../command-line.ts";

describeWithNats("fleet drain, on a real NATS server", () => {
  let server: NatsServer;
  afterEach(() => server.stop());
  const run = async (...args: string[]) => commandHere(["fleet", ...args, "--url", server.url]);

  test("names servers that take no more jobs, until that is undone; limits stay, and drained servers stay beside limits", async () => {
    server = await startNats();
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

  test("says what is missing where no fleet is set up", async () => {
    server = await startNats({}, { isSetUp: false });
    const { code, error } = await run("drain", "desk");
    expect(code).toBe(2);
    expect(error).toContain(`Run opencode-taskchart fleet init --url ${server.url}`);
  });
});
