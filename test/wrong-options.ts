/** A value that an option does not take, and what of the explanation must be said. */
type WrongValue = [value: unknown, explanation: RegExp];

const belowMinimum = (least: number): WrongValue => [least - 1, new RegExp(`expected number to be >=${least}`)];
const notWhole: WrongValue = [5_000.5, /expected int/];
const notANumber: WrongValue = ["5000", /expected number, received string/];
const notAboveZero: WrongValue = [0, /expected number to be >0/];

const wholeFrom = (least: number): WrongValue[] => [belowMinimum(least), notWhole, notANumber];
const above0: WrongValue[] = [notAboveZero, notANumber];

const slotsByName: WrongValue[] = [
  [{ name: 0 }, /\.name": .*expected number to be >=1/],
  [{ name: 1.5 }, /\.name": .*expected int/],
  [3, /expected record, received number/],
];

/** Wrong values of every option. */
export const WRONG_VALUES: Readonly<Record<string, WrongValue[]>> = {
  prefix: [
    ["Bad Prefix", /must be lower-case letters, digits and _/],
    ["elisha_task", /must not start with a prefix another toolset uses: elisha, create_subtask/],
    ["create_subtask", /must not start with a prefix/],
    [7, /expected string, received number/],
  ],
  toolsets: [
    [[], /must name at least one toolset/],
    [["task"], /toolsets\.0": .*"tasks"\|"elisha"\|"subtasks"/],
    ["tasks", /expected array, received string/],
  ],
  permission: [
    ["asyncagents task", /must be the name of a permission/],
    ["", /must be the name of a permission/],
    [false, /expected string, received boolean/],
  ],
  "subtasks.onParentCancel": [["ignore", /"cancel"\|"detach"/]],
  maxDepth: [...wholeFrom(1), [11, /expected number to be <=10/]],
  "timeouts.stale": wholeFrom(1_000),
  "timeouts.run": wholeFrom(1_000),
  "timeouts.provider": wholeFrom(1_000),
  "timeouts.takeover": wholeFrom(15_000),
  "budget.toolCalls": wholeFrom(1),
  "budget.tokens": wholeFrom(1),
  "budget.cost": above0,
  "budget.tasksPerParent": wholeFrom(1),
  "loop.repeat": wholeFrom(2),
  "fallback.agents": [
    [{ name: [] }, /\.name": must name at least one model/],
    [{ name: "p/m" }, /\.name": .*expected array, received string/],
    [{ name: ["m"] }, /\.name\.0": must be written "provider\/model" or "provider\/model#variant"/],
    [{ name: ["p/m", 1] }, /\.name\.1": .*expected string/],
    [[], /expected record/],
  ],
  "fallback.after": wholeFrom(0),
  "gate.agents": [
    [{ name: "" }, /\.name": must be a command, or an object such as/],
    [{ name: "  " }, /\.name": must be a command, or an object such as/],
    [{ name: ["npm", "test"] }, /\.name": must be a command, or an object such as/],
    [{ name: { before: true } }, /\.name": must be a command, or an object such as/],
    [{ name: { command: " " } }, /\.name": must be a command, or an object such as/],
    [{ name: { command: "npm test", before: 1 } }, /\.name": must be a command, or an object such as/],
    [{ name: { command: "npm test", after: true } }, /\.name": must be a command, or an object such as/],
  ],
  "gate.tries": [...wholeFrom(0), [21, /expected number to be <=20/]],
  "gate.timeout": wholeFrom(1_000),
  "gate.before": [["yes", /expected boolean, received string/]],
  "schema.agents": [
    [{ name: "integer" }, /\.name": .*expected record, received string/],
    [[], /expected record/],
  ],
  "worktree.agents": [["build", /expected array, received string/]],
  "worktree.setup": [
    ["", /must be a command/],
    [true, /expected string, received boolean/],
  ],
  "worktree.keep": above0,
  "concurrency.default": wholeFrom(1),
  "concurrency.providers": slotsByName,
  "concurrency.models": [
    [{ "acme/big": 0 }, /acme\/big": .*expected number to be >=1/],
    [{ big: 1 }, /big": must be written "provider\/model"/],
    [3, /expected record, received number/],
  ],
  "concurrency.agents": slotsByName,
  "attention.timeout": wholeFrom(1_000),
  wake: [["none", /"each"\|"all"/]],
  promptCache: [...wholeFrom(0), [90_000_000, /expected number to be <=86400000/]],
  recovery: [["stop", /"continue"\|"fail"/]],
  "retention.days": above0,
  "retention.count": wholeFrom(0),
  "api.allowedOrigins": [
    [
      ["https://ok.example", "https://x.example/"],
      /allowedOrigins\.1": must be an origin .* such as "https:\/\/x\.example"/,
    ],
    [["https://x.example/path"], /without a path .* such as "https:\/\/x\.example"/],
    [["HTTPS://X.example"], /such as "https:\/\/x\.example"/],
    [["https://x.example:443"], /such as "https:\/\/x\.example"/],
    [["x.example"], /must be an origin/],
    [["*"], /must be an origin/],
    ["https://x.example", /expected array, received string/],
  ],
  "api.reads": [["everybody", /"user"\|"token"\|"open"/]],
  inspect: [["Stately", /must be true, false or "stately"/]],
  "fork.maxToolResultChars": wholeFrom(100),
  "fork.maxTokens": wholeFrom(1_000),
  "list.maxTasks": wholeFrom(1),
  "reminder.ended": wholeFrom(0),
  "notice.maxResultChars": wholeFrom(0),
  "fleet.url": [
    ["http://nats.example:4222", /must be the address of a NATS server/],
    ["nats://ada:secret@nats.example", /must not contain a user or a password: those belong in the file/],
    [4222, /expected string, received number/],
  ],
  "fleet.credentials": [["", /must be the path of a file/]],
  "fleet.work": [...wholeFrom(0), [101, /expected number to be <=100/]],
  "fleet.offer": [["explore", /expected array, received string/]],
  "fleet.retries": [...wholeFrom(0), [11, /expected number to be <=10/]],
  "fleet.patience": wholeFrom(1_000),
  "fleet.pool": [["", /must be a name/]],
  "fleet.name": [
    ["", /must be a name/],
    ["x".repeat(61), /expected string to have <=60 characters/],
  ],
};

/** Returns an options object in which the option of that path, such as `notice.maxResultChars`, has the value. */
export const withOption = (path: string, value: unknown): Record<string, unknown> => {
  const [key = "", ...rest] = path.split(".");
  return { [key]: rest.length === 0 ? value : withOption(rest.join("."), value) };
};
