import { Command, Option } from "@commander-js/extra-typings";
import { type CommandContext, DURATION, examples, withJson } from "../command.ts";

/** Creates a command that asks the NATS server of a fleet. */
const brokerCommand = (name: string, summary: string, description: string) =>
  withJson(new Command(name).summary(summary).description(description))
    .option("--url <url>", "the address of the NATS server, as in the option fleet.url")
    .option("--credentials <file>", "the NATS credentials file; without it, it must let anybody in");

const initCommand = ({ terminal }: CommandContext) =>
  brokerCommand(
    "init",
    "set a fleet up on a NATS server, or change its settings",
    "Make the streams that a fleet needs on a NATS server with JetStream. Where they are there, change their settings; what is in them stays.",
  )
    .option(
      "--lease <duration>",
      "after how long a server that does not renew its leases counts as dead, so that others begin its tasks anew (default: 60s)",
    )
    .option("--keep <duration>", "how long jobs and results wait for a server that is off (default: 7d)")
    .addOption(
      new Option("--replicas <n>", "how many servers of a NATS cluster keep a copy (default: 1)").choices([
        "1",
        "3",
        "5",
      ]),
    )
    .addHelpText(
      "after",
      `
${DURATION}
Where the fleet is set up already, a setting that is not given stays as it is.
The credentials must permit to manage streams; those of the servers of the fleet need not.
${examples(["fleet init --url nats://10.0.0.5:4222", "a fleet on one NATS server"])}`,
    )
    .action(async (given) => {
      // With the client of NATS, which no other command loads.
      const { initFleet } = await import("../fleet/settings.ts");
      await initFleet(given, terminal);
    });

const statusCommand = (context: CommandContext) =>
  brokerCommand(
    "status",
    "show what waits and what runs in a fleet, and which servers are present",
    "Show the jobs that wait, the runs under way, the servers that are present and how much each works on, and how the fleet is set up.",
  )
    .addHelpText(
      "after",
      `
Exit code: 0, or 1 where the fleet is not set up.
${examples(["fleet status --url nats://10.0.0.5:4222", "what goes on in the fleet"])}`,
    )
    .action(async (given) => {
      const { showFleet } = await import("../fleet/status.ts");
      await showFleet(given, context);
    });

const limitCommand = ({ terminal }: CommandContext) =>
  brokerCommand(
    "limit",
    "limit how many tasks of a model are at work in a whole fleet",
    "Limit how many tasks of a model are at work at once on all servers of a fleet together. Without a model, list the limits.",
  )
    .argument("[model]", "the model, as provider/model")
    .argument("[limit]", "how many tasks at once, at least 1; none: any number")
    .addHelpText(
      "after",
      `
A limit holds for tasks that other servers work on, and for those that are launched after it was set. One that is
changed or lifted counts within 15 s, also for tasks that wait already.
The credentials must permit to write the limits; those of the servers of the fleet need not.
${examples(
  ["fleet limit anthropic/claude-haiku-4-5 8 --url nats://10.0.0.5:4222", "at most 8 at once"],
  ["fleet limit --url nats://10.0.0.5:4222", "list the limits"],
)}`,
    )
    .action(async (model, limit, given) => {
      const { limitFleet } = await import("../fleet/settings.ts");
      await limitFleet({ model, limit, ...given }, terminal);
    });

const drainCommand = ({ terminal }: CommandContext) =>
  brokerCommand(
    "drain",
    "make a server of a fleet take no more jobs",
    "Make a server take no more jobs of others, so that it can be stopped once it has finished what it works on. Without a server, list those that take none.",
  )
    .argument("[server]", "the server's name, as fleet status shows it, or its id")
    .option("--undo", "make it take jobs again")
    .addHelpText(
      "after",
      `
It counts within 15 s. A name that no server has changes nothing.
The credentials must permit to write the limits; those of the servers of the fleet need not.
${examples(["fleet drain desk --url nats://10.0.0.5:4222", "no more jobs for the server desk"])}`,
    )
    .action(async (server, given) => {
      const { drainServer } = await import("../fleet/settings.ts");
      await drainServer({ server, ...given }, terminal);
    });

export const fleetCommand = (context: CommandContext) =>
  new Command("fleet")
    .summary("set up and see a fleet: servers that take tasks from each other")
    .description("Set up and see a fleet: OpenCode servers that take tasks from each other over a NATS server.")
    .usage("<command> [options]")
    .helpCommand(false)
    .addCommand(initCommand(context))
    .addCommand(statusCommand(context))
    .addCommand(limitCommand(context))
    .addCommand(drainCommand(context))
    .addHelpText(
      "after",
      examples(
        ["fleet init --url nats://10.0.0.5:4222", "set a fleet up"],
        ["fleet status --url nats://10.0.0.5:4222", "see it"],
      ),
    );
