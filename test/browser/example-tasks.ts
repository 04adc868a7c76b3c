import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import type { FakeSource } from "../fakes/status-source.ts";

const MINUTE = 60_000;

/** Tasks as a person has them on an afternoon: several conversations and batches, one in each way that a task can stand. */
export const launchExamples = (source: FakeSource, now: number): void => {
  const iso = (minutesAgo: number) => new Date(now - minutesAgo * MINUTE).toISOString();
  const work = (tools: Record<string, number>, tokens: number, cost: number) => ({
    toolCalls: Object.values(tools).reduce((sum, times) => sum + times, 0),
    toolCallsByName: tools,
    lastTools: Object.keys(tools),
    lastUpdate: iso(0.1),
    tokens,
    cost,
  });
  const launch = (id: string, minutesAgo: number, given: Partial<ApiTask>) =>
    source.launch({
      sessionID: `ses_${id}`,
      startedAt: iso(minutesAgo),
      runStartedAt: iso(minutesAgo),
      parentAgent: "build",
      author: "build",
      agent: "general",
      model: { providerID: "anthropic", modelID: "claude-sonnet-4-5" },
      directory: "/home/me/tea-shop",
      parentSessionID: "ses_6f1c8800bffeJ2nQw4Tz7kYpRs",
      batchId: `msg_${Math.round(minutesAgo / 10)}`,
      ...given,
    });
  const end = (id: string, minutesAgo: number, changes: Partial<ApiTask>) =>
    source.change(`ses_${id}`, { completedAt: iso(minutesAgo), ...changes });

  launch("6f1b02417ffeKs83nqPvXcLm1d", 190, {
    description: "Compare three payment providers",
    parentSessionID: "ses_6f1b03358ffeWc2rT8uHnEoAqz",
    agent: "explore",
    progress: work({ webfetch: 14, read: 3 }, 184_200, 0.61),
  });
  end("6f1b02417ffeKs83nqPvXcLm1d", 184, {
    status: "completed",
    result: "Stripe fits best: the lowest fees below 5,000 orders a month, and the only one with hosted invoices.",
  });
  launch("6f1b02418ffeYt51dkOwZbMn2e", 190, {
    description: "Read the terms of the old provider",
    parentSessionID: "ses_6f1b03358ffeWc2rT8uHnEoAqz",
    agent: "explore",
    progress: work({ webfetch: 2 }, 21_000, 0.07),
  });
  end("6f1b02418ffeYt51dkOwZbMn2e", 189, { status: "cancelled" });

  launch("6f1c7711affeGq61bvUySoKi8r", 42, {
    description: "Find every place that formats a price",
    agent: "explore",
    progress: work({ grep: 9, read: 11 }, 96_400, 0.29),
  });
  end("6f1c7711affeGq61bvUySoKi8r", 40, {
    status: "completed",
    result: "Fourteen places format a price, eleven of them without the currency of the customer.",
  });
  launch("6f1c7711bffePe09xmIjQaDf4t", 42, {
    description: "Check the prices against the wholesale list",
    progress: work({ read: 2, webfetch: 1 }, 12_800, 0.04),
  });
  end("6f1c7711bffePe09xmIjQaDf4t", 41.4, {
    status: "error",
    error: {
      name: "APIError",
      kind: "provider",
      message: "The provider refused the request: rate limit of 40,000 tokens a minute.",
    },
  });

  const forked = "6f1c8802cffeBn47hsRtVwEx3u";
  launch(forked, 6.4, {
    description: "Move all prices to one money type",
    progress: work({ read: 21, edit: 12, bash: 4 }, 412_000, 1.34),
    isForked: true,
  });
  const nested = { parentSessionID: `ses_${forked}`, parentTaskId: `ses_${forked}`, parentAgent: "general" };
  launch("6f1c8809dffeLm20zcAoPkHy5v", 4.1, {
    ...nested,
    description: "Write tests for rounding and for negative amounts",
    agent: "tests",
    progress: work({ read: 4, write: 3, bash: 6 }, 88_300, 0.27),
  });
  const asking = "6f1c880adffeTr83wqLpNbGj6w";
  launch(asking, 3.8, {
    ...nested,
    description: "Run the migration on a copy of the database",
    agent: "database",
    prompt:
      "Copy the database, run the new migration on the copy, and compare the sums of all orders before and after. Change nothing else.",
    progress: work({ read: 2, bash: 3 }, 31_700, 0.1),
    attention: {
      kind: "permission",
      what: "run npm run migrate -- --database copy.sqlite",
      since: iso(1.2),
      requests: [
        {
          id: "per_1",
          kind: "permission",
          what: "run npm run migrate -- --database copy.sqlite",
          since: iso(1.2),
          always: ["npm run migrate *"],
        },
      ],
    },
  });
  launch("6f1c8803cffeVh12yfSuXmCz7x", 6.4, {
    description: "Update the guide for shop owners",
    agent: "docs",
    progress: work({ read: 7, edit: 5 }, 74_100, 0.22),
  });
  launch("6f1c8804cffeDk58jgTvYnBw9y", 6.4, {
    description: "Screenshots of the new checkout",
    progress: work({ bash: 2 }, 9_400, 0.03),
  });
  source.messages.set(`ses_${asking}`, [
    {
      info: { id: "msg_1", role: "user", agent: "database", time: { created: now - 3.8 * MINUTE } },
      parts: [
        {
          id: "prt_1",
          type: "text",
          text: "Copy the database, run the new migration on the copy, and compare the sums of all orders before and after. Change nothing else.",
        },
      ],
    },
    {
      info: {
        id: "msg_2",
        role: "assistant",
        agent: "database",
        modelID: "claude-sonnet-4-5",
        time: { created: now - 3.7 * MINUTE },
      },
      parts: [
        { id: "prt_2", type: "text", text: "I copy the database first, and note the sums." },
        {
          id: "prt_3",
          type: "tool",
          tool: "bash",
          state: {
            status: "completed",
            title: "Copy the database",
            input: { command: "cp shop.sqlite copy.sqlite" },
            output: "",
          },
        },
        {
          id: "prt_4",
          type: "tool",
          tool: "read",
          state: {
            status: "completed",
            title: "migrations/014-money.sql",
            input: { filePath: "migrations/014-money.sql" },
            output: "alter table orders …",
          },
        },
        { id: "prt_5", type: "text", text: "The sum of all 18,204 orders is 412,903.55. Now the migration." },
        {
          id: "prt_6",
          type: "tool",
          tool: "bash",
          state: { status: "running", input: { command: "npm run migrate -- --database copy.sqlite" } },
        },
      ],
    },
  ]);
};
