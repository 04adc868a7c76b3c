import { readFileSync } from "node:fs";
import type { TaskInput } from "../../src/machines/task/events.ts";
import type { Journal } from "../../src/machines/task/replay.ts";
import { parseExportedJournal } from "../../src/services/replay/export-file.ts";

/** One of the ways that a task can go which matter. */
export interface Story {
  /** The name of its journal and of its picture, without the extension. */
  file: string;
  title: string;
  /** What it shows, in a sentence. */
  sentence: string;
  /** The test that plays it in the real OpenCode: its file in `test/e2e`, and its name. */
  playedBy: { file: string; test: string };
  /** The events that change states, in their order, each with the states that the task came into. The launch comes first. */
  way: string[];
  /** Milliseconds that it waits for its slot at least; undefined where that does not matter. */
  waits?: number;
}

const SENT = ["SLOT_GRANTED → run.active.prompting.sending", "PROMPT_ACCEPTED → run.active.working.busy"];
const BEGUN = ["launched → run.queued", ...SENT];
const CHECKED = ["HOST_IDLE → run.active.checking.asking.verifying"];
const DELIVERED = ["NOTICE_COMPOSED → notice.sending", "NOTICE_ACKNOWLEDGED → notice.none"];
const COMPLETED = [...CHECKED, "CHECKED_ANSWERED → lifecycle.completed notice.due", ...DELIVERED];
const PAUSED = ["PAUSE → run.pausing.aborting", "STOPPED → run.pausing.asking", "CHECKED_ABORTED → run.pausing.paused"];
const CONTINUED = [
  "CONTINUE → run.queued",
  "SLOT_GRANTED → run.pausing.continuing",
  "CHECKED_ABORTED → run.active.prompting.sending",
  "PROMPT_ACCEPTED → run.active.working.busy",
];
const GATED = [...CHECKED, "CHECKED_ANSWERED → run.active.checking.gating"];

export const STORIES: readonly [Story, ...Story[]] = [
  {
    file: "plain-success",
    title: "It goes well",
    sentence: "A task is launched, works, and its result is delivered to the agent that launched it.",
    playedBy: { file: "tasks", test: "a task goes from launch to notice" },
    way: [...BEGUN, ...COMPLETED],
  },
  {
    file: "queued-first",
    title: "It waits in the queue first",
    sentence: "All slots are taken: the task waits until another one has ended, and then works as any other.",
    playedBy: {
      file: "limits",
      test: "of twelve launches never more than two are at work, in the order of the launches, and the others say their place",
    },
    way: [...BEGUN, ...COMPLETED],
    waits: 500,
  },
  {
    file: "asks-a-person",
    title: "It asks a person",
    sentence: "The agent needs a permission. The task waits until a person has answered, and then goes on.",
    playedBy: { file: "panel", test: "answers a permission of a task deep below in place, from the task above it" },
    way: [
      ...BEGUN,
      "REQUEST_ASKED → attention.awaitingUser.permission",
      "REQUEST_ANSWERED → attention.none",
      ...COMPLETED,
    ],
  },
  {
    file: "refused-for-now",
    title: "Its provider refuses for now",
    sentence:
      "The provider has a rate limit. OpenCode makes the request again when the provider allows it, and the task goes on.",
    playedBy: {
      file: "rate-limits",
      test: "while a provider refuses one task for now, others on it wait and say so, and those of another provider start",
    },
    way: [...BEGUN, "HOST_RETRYING → run.active.working.retrying", "HOST_BUSY → run.active.working.busy", ...COMPLETED],
  },
  {
    file: "model-changed",
    title: "It goes on with another model",
    sentence:
      "The provider refuses for longer than the task is to wait, so the next model of `fallback` goes on in the same conversation.",
    playedBy: {
      file: "rate-limits",
      test: "a task whose provider makes it wait longer than it is to goes on with the next model",
    },
    way: [
      ...BEGUN,
      "HOST_RETRYING → run.active.working.retrying",
      "HOST_BUSY → run.active.working.busy",
      "HOST_RETRYING → run.active.working.retrying",
      "TICK → run.active.changingModel.ending",
      "MODEL_CHANGED → run.active.changingModel.settling",
      "TICK → run.queued",
      ...SENT,
      ...COMPLETED,
    ],
  },
  {
    file: "quota-used-up",
    title: "Its provider serves again only in an hour",
    sentence:
      "The quota is used up until a time that the provider names. The task waits for that time without a slot, also over a restart of OpenCode; here a person has it go on sooner.",
    playedBy: {
      file: "rate-limits",
      test: "a task whose provider serves again in an hour holds no slot until then, over a restart, and starts sooner when it is told to",
    },
    way: [...BEGUN, "HOST_RETRYING → run.active.working.retrying", ...PAUSED, ...CONTINUED, ...COMPLETED],
  },
  {
    file: "paused",
    title: "It is paused, and told to go on",
    sentence:
      "Its session is stopped, and the task keeps what it has done, without a slot. Told to go on, it waits for a slot and repeats the step that was cut off.",
    playedBy: {
      file: "pause",
      test: "a task that its agent pauses in its second step costs nothing, and goes on after the first when it is told to",
    },
    way: [...BEGUN, ...PAUSED, ...CONTINUED, ...COMPLETED],
  },
  {
    file: "cancelled",
    title: "It is cancelled",
    sentence:
      "The agent cancels a task that works. It counts as cancelled once OpenCode has confirmed that nothing works on it any more, or has not after ten tries.",
    playedBy: { file: "tasks", test: "a cancelled task stops, its parent is notified, and its session works no more" },
    way: [...BEGUN, "CANCEL → run.stopping.aborting", "STOPPED → lifecycle.cancelled notice.due", ...DELIVERED],
  },
  {
    file: "retried",
    title: "It fails, and is retried",
    sentence:
      "The provider refuses its third request for good, and the failure is delivered. A retry goes on after the second step, in the same conversation.",
    playedBy: {
      file: "retry",
      test: "a task that fails with a 400 in its third step goes on after the second, which is not done again",
    },
    way: [
      ...BEGUN,
      ...CHECKED,
      "CHECKED_FAILED → lifecycle.error notice.due",
      ...DELIVERED,
      "RETRY → lifecycle.resumed run.queued",
      ...SENT,
      ...COMPLETED,
    ],
  },
  {
    file: "taken-over",
    title: "OpenCode is killed, and another process takes over",
    sentence:
      "OpenCode is killed while the agent works. Another process finds the task, asks what became of it, and has it go on.",
    playedBy: {
      file: "restart",
      test: "when one is killed, the other goes on with its tasks and notifies their parent once",
    },
    way: [
      ...BEGUN,
      "ADOPTED → run.active.checking.asking.recovering",
      "CHECKED_UNANSWERED → run.active.prompting.sending",
      "PROMPT_ACCEPTED → run.active.working.busy",
      ...COMPLETED,
    ],
  },
  {
    file: "steered-at-the-last-moment",
    title: "It is given an instruction at the last moment",
    sentence:
      "An instruction is given while the agent writes its answer. That answer does not count: the agent reads the instruction, and answers again.",
    playedBy: {
      file: "steer",
      test: "instructions that race with the child's end are all seen, and the task ends once",
    },
    way: [
      ...BEGUN,
      "STEER → steering.sending",
      ...CHECKED,
      "CHECKED_ANSWERED → run.active.working.busy",
      "STEERING_STORED → run.active.checking.asking.verifying steering.none",
      "CHECKED_UNSEEN → run.active.prompting.sending",
      "PROMPT_ACCEPTED → run.active.working.busy",
      ...COMPLETED,
    ],
  },
  {
    file: "gate-fails-once",
    title: "Its gate fails once",
    sentence:
      "The answer must pass a command, such as the project's tests. The command fails, the agent is given its output, and the next answer passes.",
    playedBy: {
      file: "gates",
      test: "a gate that fails once gives the agent its output, and then passes: one notice, of the second answer",
    },
    way: [
      ...BEGUN,
      ...GATED,
      "GATE_ENDED → run.active.prompting.sending",
      "PROMPT_ACCEPTED → run.active.working.busy",
      ...GATED,
      "GATE_ENDED → lifecycle.completed notice.due",
      ...DELIVERED,
    ],
  },
  {
    file: "on-another-server",
    title: "Another server works on it",
    sentence:
      "The task is offered to the fleet. Another server takes it, works on it and reports its end, and the result is delivered here.",
    playedBy: {
      file: "fleet",
      test: "a task that is launched on one server runs on another, its end is delivered once, and the journals of both replay",
    },
    way: [
      "launched → run.fleet.unclaimed.enqueuing",
      "JOB_ENQUEUED → run.fleet.unclaimed.enqueued",
      "REMOTE_CLAIMED → run.fleet.claimed",
      "REMOTE_ENDED → lifecycle.completed notice.due",
      ...DELIVERED,
    ],
  },
];

/** A journal that begins at the launch, of a launch that is known. */
export type WholeJournal = Journal & { origin: TaskInput & Required<Pick<TaskInput, "launch">> };

/** Parses an exported journal; undefined if it does not begin at a launch that is known. Throws if it is none. */
export const parseWholeJournal = (text: string): WholeJournal | undefined => {
  const read = parseExportedJournal(text);
  if ("wrong" in read) throw new Error(`the journal ${read.wrong}`);
  const { origin } = read.journal;
  return origin?.launch && { ...read.journal, origin: { ...origin, launch: origin.launch } };
};

/** Where the journal of a story is. */
export const journalFile = ({ file }: Story): URL => new URL(`stories/${file}.json`, import.meta.url);

export const journalOf = (story: Story): WholeJournal => {
  const journal = parseWholeJournal(readFileSync(journalFile(story), "utf8"));
  if (!journal) throw new Error(`the journal of the story ${story.file} does not begin at the launch`);
  return journal;
};
