import { WITH_NOTICES } from "../../../scripts/requirements/specifications.ts";
import { type Entry, lines, type Planted, planted, seenBy } from "./entry.ts";

/* What the specifications say of notices: how they read, and what of them a person sees. */

const NOTICE = "src/services/text/notice-text.ts";
const COMPOSED = "src/services/engine/delivery/notices.ts";

/** A notice has only the beginning of a result. */
export const cutNotice = planted(
  NOTICE,
  "const start = truncate(text, maxResultChars);",
  "const start = truncate(text, 120);",
);

const WORDS =
  "const said = [...visible.map((text) => ({ text, synthetic: false })), { text: hidden, synthetic: true }];";

/** The notice of some runs has a third part. `runs` is a condition on a `RunResult`. */
const thirdPart = (runs: string): Planted =>
  planted(
    COMPOSED,
    WORDS,
    `const said = [...visible.map((text) => ({ text, synthetic: false })), { text: hidden, synthetic: true }, ...(results.some(${runs}) ? [{ text: "", synthetic: true }] : [])];`,
  );

/** Of some runs, a person sees the part that is meant for the model. */
const shownPart = (runs: string): Planted =>
  planted(
    COMPOSED,
    WORDS,
    `const said = [...visible.map((text) => ({ text, synthetic: false })), { text: hidden, synthetic: !results.some(${runs}) }];`,
  );

const COMPLETED = '({ outcome, run }) => outcome === "completed" && run === 0';
const FAILED = '({ outcome, run }) => outcome === "error" && run === 0';
const CANCELLED = '({ outcome }) => outcome === "cancelled"';
const RESUME_COMPLETED = '({ outcome, run }) => outcome === "completed" && run > 0';
const RESUME_FAILED = '({ outcome, run }) => outcome === "error" && run > 0';

/** `Task Progress` counts all tasks of the session. */
const countsSession = planted(
  COMPOSED,
  "batch: countTasks(batches.get(end.batchId) ?? [])",
  "batch: countTasks(siblings)",
);

/** It counts how many tasks there are, and not how many have ended. */
const countsAll = planted(NOTICE, "${batch.ended}/${batch.total}`,", "${batch.total}/${batch.total}`,");

/** Some notices have no guidance. `ends` is a condition on the list of ended runs. */
const noGuidance = (ends: string): Planted =>
  planted(
    NOTICE,
    "      advice(ends, session, style.tools.output),\n",
    `      (${ends}) ? "" : advice(ends, session, style.tools.output),\n`,
  );

const ofSome = (runs: string) => `ends.some(({ end }) => (${runs})(end))`;

/** Some notices do not name the error. */
const noError = (runs: string): Planted =>
  planted(
    NOTICE,
    'error ? own`Error: ${quoteError(error)}` : "",',
    `error && !(${runs})(end) ? own\`Error: \${quoteError(error)}\` : "",`,
  );

const FORMAT = "Silent System Hints in Notifications";

const formats: Entry[] = [
  ...lines(WITH_NOTICES, FORMAT, undefined, {
    "The system SHALL split task completion notifications into visible and hidden parts, where the visible part provides user-friendly status information and the hidden part provides AI-specific guidance via synthetic message parts.":
      seenBy("Task completion notification format", shownPart("() => true")),
  }),
  ...lines(WITH_NOTICES, FORMAT, "Task completion notification format", {
    "system sends a message with two parts to the parent session": thirdPart(COMPLETED),
    'the visible part contains: `✓ **Agent "${description}" finished in ${duration}.**\\nTask Progress: ${completed}/${total}`':
      [
        planted(NOTICE, '${failed ? "failed" : "finished"}', '${failed ? "failed" : "ended"}'),
        planted(
          NOTICE,
          '{ completed: "✓", error: "✗", cancelled: "⊘" }',
          '{ completed: "✔", error: "✗", cancelled: "⊘" }',
        ),
        countsSession,
        countsAll,
      ],
    "the hidden part (synthetic: true) contains guidance for the AI": [
      noGuidance(ofSome(COMPLETED)),
      shownPart(COMPLETED),
    ],
  }),
  ...lines(WITH_NOTICES, FORMAT, "Task failure notification format", {
    "system sends a message with two parts to the parent session": thirdPart(FAILED),
    'the visible part contains: `✗ **Agent "${description}" failed in ${duration}.**\\nTask Progress: ${completed}/${total}`':
      [planted(NOTICE, '${failed ? "failed" : "finished"}', '${failed ? "stopped" : "finished"}'), countsSession],
    "the hidden part includes the error message and guidance": [
      noError(FAILED),
      noGuidance(ofSome(FAILED)),
      shownPart(FAILED),
    ],
  }),
  ...lines(WITH_NOTICES, FORMAT, "Task cancellation notification format", {
    "system sends a message with two parts to the parent session": thirdPart(CANCELLED),
    'the visible part contains: `⊘ **Agent "${description}" cancelled after ${duration}.**\\nTask Progress: ${completed}/${total}`':
      [planted(NOTICE, "cancelled after ${time}.", "cancelled in ${time}."), countsSession],
    "the hidden part contains guidance for the AI": [noGuidance(ofSome(CANCELLED)), shownPart(CANCELLED)],
  }),
  ...lines(WITH_NOTICES, FORMAT, "Resume completion notification format", {
    "system sends a message with two parts to the parent session": thirdPart(RESUME_COMPLETED),
    "the visible part contains: `✓ **Resume #${resumeCount} completed in ${duration}.**\\nTask Progress: ${completed}/${total}`":
      [planted(NOTICE, '${failed ? "failed" : "completed"}', '${failed ? "failed" : "finished"}'), countsSession],
    "the hidden part contains guidance for the AI": [noGuidance(ofSome(RESUME_COMPLETED)), shownPart(RESUME_COMPLETED)],
  }),
  ...lines(WITH_NOTICES, FORMAT, "Resume failure notification format", {
    "system sends a message with two parts to the parent session": thirdPart(RESUME_FAILED),
    "the visible part contains: `✗ **Resume #${resumeCount} failed in ${duration}.**\\nTask Progress: ${completed}/${total}`":
      [planted(NOTICE, '${failed ? "failed" : "completed"}', '${failed ? "stopped" : "completed"}'), countsSession],
    "the hidden part includes the error message": [noError(RESUME_FAILED), shownPart(RESUME_FAILED)],
  }),
];

const HINTS = "Conditional Hidden Hint Content";

const hints: Entry[] = [
  ...lines(WITH_NOTICES, HINTS, undefined, {
    "The system SHALL generate different hidden hint content based on whether tasks are still running or all tasks have completed.":
      planted(
        NOTICE,
        "runningCount(session) > 0 ? whileOthersRun : whenAllHaveEnded",
        "runningCount(session) > 1 ? whileOthersRun : whenAllHaveEnded",
        "Hidden hint when tasks still running",
      ),
  }),
  ...lines(WITH_NOTICES, HINTS, "Hidden hint when tasks still running", {
    '`If you need results immediately, use {prefix}_output(task_id="${taskId}").`': planted(
      NOTICE,
      'outputCall(output, first.end.taskId) : nameOf(output ?? "")',
      'nameOf(output) : nameOf(output ?? "")',
    ),
    "`You can continue working or just say 'waiting' and halt.`": planted(
      NOTICE,
      "    \"You can continue working or just say 'waiting' and halt.\",\n",
      "",
    ),
    "`WATCH OUT for leftovers, you will likely WANT to wait for all agents to complete.`": planted(
      NOTICE,
      '    "WATCH OUT for leftovers, you will likely WANT to wait for all agents to complete.",\n',
      "",
    ),
  }),
  ...lines(WITH_NOTICES, HINTS, "Hidden hint when all tasks complete", {
    "`All ${totalCount} tasks finished.`": planted(
      NOTICE,
      "own`All ${session.total} tasks finished.`",
      "own`All ${ends.length} tasks finished.`",
    ),
    "`Use {prefix}_output tools to see agent responses.`": planted(
      NOTICE,
      'output === undefined ? "" : own`Use ${nameOf(output)} tools to see agent responses.`,',
      '"",',
    ),
  }),
];

const INDICATOR = "Development Mode Hint Indicator";

const indicator: Entry[] = [
  ...lines(WITH_NOTICES, INDICATOR, undefined, {
    "The system SHALL display a visible indicator when hidden hints are attached in development mode.": planted(
      "src/services/host/this-process.ts",
      'environment[name] === "development"',
      'environment[name] === "dev"',
      "Show indicator in development mode",
    ),
  }),
  ...lines(WITH_NOTICES, INDICATOR, "Show indicator in development mode", {
    "the visible message ends with `[hint attached]`": planted(
      NOTICE,
      "return development ? own`${text} [hint attached]` : text;",
      "return development ? own`[hint attached] ${text}` : text;",
    ),
  }),
  ...lines(WITH_NOTICES, INDICATOR, "Hide indicator in production mode", {
    "no indicator is added to the visible message": planted(
      "src/services/host/this-process.ts",
      'environment[name] === "development"',
      'environment[name] !== "test"',
    ),
  }),
];

export const ofNotices: readonly Entry[] = [...formats, ...hints, ...indicator];
