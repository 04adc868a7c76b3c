import { z } from "@hono/zod-openapi";

const count = z.int().nonnegative();

const Server = z.object({
  id: z.string().describe("The server's id, which it keeps."),
  label: z.string().describe("What people know it by: its `fleet.name`."),
});

const PresentServer = Server.extend({
  isDrained: z.boolean().optional().describe("True where it takes no more jobs; absent where that could not be read."),
  projects: z
    .array(
      z.object({
        project: z.string().describe("The project as the server knows it."),
        slots: count.describe("How many runs of others it works on at once, for this project."),
        atWork: count.describe("How many of them are taken."),
        version: z.string().describe("The version of its plugin."),
      }),
    )
    .describe("The projects that are open in it, and whose jobs it takes."),
});

/** The fleet of this server, as the API returns it. */
export const ApiFleet = z
  .object({
    isUsed: z.boolean().describe("True where this server is in a fleet. Where it is in none, all else is empty."),
    isReached: z.boolean().describe("True while the broker of the fleet answers."),
    problem: z
      .string()
      .optional()
      .describe("Why the servers could not be asked who is there: the broker does not answer, or does not permit it."),
    server: Server.optional().describe("This server. Absent where it is in no fleet."),
    servers: z
      .array(PresentServer)
      .describe(
        "The servers that work for others and say that they are there, by their labels; this one is among them if it does. What a server says of itself is asked for at most every 5 s, and cut after 200 characters.",
      ),
    isCut: z.boolean().describe("True where there may be more servers: at most 200 answers are read."),
    tasks: z
      .object({
        waiting: count.describe("How many wait for a server, or for the broker to take their job."),
        elsewhere: count.describe("How many are at work on another server."),
      })
      .describe("The tasks of this server that have not ended and are for the fleet."),
  })
  .meta({ id: "Fleet", description: "The servers of the fleet, and the tasks of this one that are for it." });
export type ApiFleet = z.infer<typeof ApiFleet>;
