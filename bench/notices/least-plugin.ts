import { type Plugin, tool } from "@opencode-ai/plugin";

/**
 * The least that a plugin can do to run tasks in the background: it creates a session, sends it a prompt, and sends the
 * parent a prompt when OpenCode reports that the session is idle. It stores nothing, checks nothing, and loses what it was
 * about to do with its process. What it takes is what no plugin can be faster than:
 *
 *     npm run bench -- --sizes 1 --rounds 15 --against bench/notices/least-plugin.ts
 */
const server: Plugin = async ({ client }) => {
  const tasks = new Map<string, { parent: string; description: string }>();
  return {
    tool: {
      asyncagents_task: tool({
        description: "Run a subagent in the background.",
        args: { description: tool.schema.string(), prompt: tool.schema.string(), agent: tool.schema.string() },
        execute: async ({ description, prompt, agent }, { sessionID: parent }) => {
          const created = await client.session.create({ body: { parentID: parent, title: description } });
          const id = created.data?.id;
          if (id === undefined) throw new Error("OpenCode created no session.");
          tasks.set(id, { parent, description });
          await client.session.promptAsync({ path: { id }, body: { agent, parts: [{ type: "text", text: prompt }] } });
          return `Task ${id} is running.`;
        },
      }),
    },
    event: async ({ event }) => {
      const id = event.type === "session.idle" ? event.properties.sessionID : "";
      const task = tasks.get(id);
      if (!task || !tasks.delete(id)) return;
      const text = `✓ **Agent "${task.description}" finished in 1s.**`;
      const parts = [
        { type: "text" as const, text },
        { type: "text" as const, text: `Automated notice. Task ${id} completed.`, synthetic: true },
      ];
      await client.session.promptAsync({ path: { id: task.parent }, body: { agent: "build", parts } });
    },
  };
};

export default { id: "least-plugin", server };
