import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { serialize } from "../../../src/services/replay/export-file.ts";
import { temporaryFolder } from "../../services/store/folder-and-log.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { commandHere } from "../command-line.ts";

const EXPORT = { exportedAt: "2026-01-01T00:00:00.000Z", plugin: "0.1.0", schema: 1, hasText: true };

/** An exported journal of seven events: a task that is answered, delivered and resumed. */
const exported = (stored: { result?: string } = {}): string => {
  const story = scriptTask("ses_counting", { description: "count the files" });
  const [origin] = story
    .launch()
    .records.map(({ snapshot: { context } }) => ({ facts: context.facts, run: context.run }));
  if (!origin) throw new Error("the launch has no record");
  for (const next of [story.answer, story.deliver, story.resume]) next();
  const { value, context } = story.record().snapshot;
  const journal = {
    taskId: story.id,
    origin,
    events: story.events(),
    snapshot: { value, context: { ...context, ...stored } },
  };
  const path = join(temporaryFolder(), "journal.json");
  writeFileSync(path, serialize(journal, EXPORT));
  return path;
};

describe("--until", () => {
  test("stops before an event, and shows the state, what was asked for, what was possible, and what came", async () => {
    const { code, out, error } = await commandHere(["replay", "--file", exported(), "--until", "CHECKED_ANSWERED"]);
    expect({ code, error }).toEqual({ code: 0, error: "" });
    const [, ...parts] = out.split("\n\n");
    expect(parts[0]).toBe("Before event 4 of 7, CHECKED_ANSWERED.");
    expect(parts[1]).toMatch(
      /^State\n {2}lifecycle {2}running\n {2}run {8}active\.checking\.asking\.verifying\n {2}notice {5}none\n/,
    );
    expect(parts[1]).toMatch(/\n {2}context {4}run 0 msg_ses_counting [\s\S]*checkId 1/);
    expect(parts[2]).toBe("Asked for\n  check 1  by event 3, HOST_IDLE, 100ms before");
    expect(parts[3]).toMatch(/^Possible\n/);
    expect(parts[3]).toMatch(/\n {2}CHECKED_BUSY {2,}run checking\.asking\.verifying → working\.busy\n/);
    expect(parts[3]).toMatch(
      /\n {2}CANCEL {2,}run active\.checking\.asking\.verifying → stopping\.aborting · effect\s+stop\n/,
    );
    expect(parts[3]).not.toContain("SLOT_GRANTED");
    expect(parts[4]).toMatch(/^Next\n4 {2}\S+ +\+100ms {2}CHECKED_ANSWERED +with +checkId 1, /);
    expect(parts[4]).toContain("lifecycle  running → completed");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  test("takes a number, or `end`, where nothing comes next", async () => {
    const second = await commandHere(["replay", "--file", exported(), "--until", "2"]);
    expect(second.out).toContain("\nBefore event 2 of 7, PROMPT_ACCEPTED.\n");
    const end = await commandHere(["replay", "--file", exported(), "--until", "end"]);
    expect(end.out).toContain("\nAfter the last of 7 events.\n");
    expect(end.out).toMatch(/\nAsked for\n.*\n {2}ask for a slot {2,}by event 7, RESUME, 0ms before\n\n/);
    expect(end.out).not.toContain("\nNext\n");
  });

  test("prints the same as JSON", async () => {
    const { out } = await commandHere(["replay", "--file", exported(), "--until", "4", "--json"]);
    const { possible, ...state } = JSON.parse(out);
    expect(state).toMatchObject({
      taskId: "ses_counting",
      taken: 3,
      next: { type: "CHECKED_ANSWERED" },
      regions: { lifecycle: "running", run: "active.checking.asking.verifying" },
      context: { checkId: 1 },
      askedFor: [{ effect: { type: "checkRun" }, since: 3 }],
    });
    expect(possible).toContainEqual(
      expect.objectContaining({ which: "", event: expect.objectContaining({ type: "CANCEL" }) }),
    );
  });

  test.each([
    ["8", "There is no event 8: the journal has events 1 to 7."],
    ["STEERED", 'The journal has no event "STEERED". Give its number, "end", or one of CHECKED_ANSWERED, '],
  ])("says of %s what there is instead", async (until, words) => {
    const { code, error } = await commandHere(["replay", "--file", exported(), "--until", until]);
    expect(error).toContain(words);
    expect(code).toBe(2);
  });
});

describe("--step", () => {
  const stepping = (input: string[], more: string[] = [], file = exported()) =>
    commandHere(["replay", "--file", file, "--step", ...more], { isInteractive: true, input });

  test("goes on, back, and until an event, and shows the state where it is asked for", async () => {
    const { code, out } = await stepping(["", "n", "u NOTICE_COMPOSED", "s", "b", "b", "q", "n"]);
    const said = out.slice(out.indexOf("Enter or n"));
    const prompts = [...said.matchAll(/^(\d\/7) (?:next )?(.*?) › (.*)$/gm)].map(([, ...parts]) => parts.join(" "));
    expect(prompts).toEqual([
      "0/7 SLOT_GRANTED ",
      "1/7 PROMPT_ACCEPTED n",
      "2/7 HOST_IDLE u NOTICE_COMPOSED",
      "4/7 NOTICE_COMPOSED s",
      "4/7 NOTICE_COMPOSED b",
      "3/7 CHECKED_ANSWERED b",
      "2/7 HOST_IDLE q",
    ]);
    const shown = [...said.matchAll(/^(\d) {2}\S+ .*? ([A-Z_]+) /gm)].map(([, number, type]) => `${number} ${type}`);
    expect(shown).toEqual(["1 SLOT_GRANTED", "2 PROMPT_ACCEPTED", "3 HOST_IDLE", "4 CHECKED_ANSWERED"]);
    expect(said).toContain("\nBefore event 5 of 7, NOTICE_COMPOSED.\n");
    expect(said).toMatch(/\nState\n {2}lifecycle {2}completed\n/);
    expect(said).toContain("\nBefore event 4 of 7, CHECKED_ANSWERED.\n");
    expect(code).toBe(0);
  });

  test("begins where --until says, and compares with what is stored when it has come to the end", async () => {
    const whole = await stepping(["", "", "", "b", ""], ["--until", "6"]);
    expect(whole.out).toContain("\n5/7 next NOTICE_ACKNOWLEDGED › \n");
    expect(whole.out.match(/The journal replays to the stored snapshot/g)).toHaveLength(2);
    expect(whole.out).toContain("\n7/7 the end › \nThere are no more events.\n");
    expect(whole.code).toBe(0);
    const other = await stepping(["u end"], [], exported({ result: "elsewhere" }));
    expect(other.out).toContain("The journal does not replay to the stored snapshot: 1 difference.");
    expect(other.code).toBe(1);
  });

  test("says what is wrong with a line, and goes on", async () => {
    const { out, code } = await stepping(["forward", "u", "u 9", "u STEER", "b", "h"]);
    expect(out).toContain('\nThere is no command "forward". Enter or n: next event');
    expect(out).toContain("\nSay until which event: its number, its name, or end.\n");
    expect(out).toContain("\nThere is no event 9: the journal has events 1 to 7.\n");
    expect(out).toContain('\nThe journal has no event "STEER". ');
    expect(out).toContain("\nThis is the beginning.\n");
    expect(code).toBe(0);
  });

  /** The command as a process, with these lines on its standard input. */
  const scripted = async (lines: string) => {
    const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
    const child = spawn(process.execPath, [main, "replay", "--file", exported(), "--step"]);
    child.stdin.end(lines);
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { out, error, code };
  };

  test("reads the same lines from a script, without prompts, and ends with its last one", async () => {
    const { out, error, code } = await scripted("n\nu CHECKED_ANSWERED\ns\n");
    expect(out).toMatch(
      /\n3 {2}\S+ +\+900ms {2}HOST_IDLE .*\n.*effect {5}check 1\nBefore event 4 of 7, CHECKED_ANSWERED.\nState\n/,
    );
    expect(out).not.toContain("›");
    expect({ error, code }).toEqual({ error: "", code: 0 });
  });

  test("refuses a script with a line that is no command", async () => {
    const { error, code } = await scripted("n\nforward\nn\n");
    expect(error).toContain('There is no command "forward".');
    expect(code).toBe(2);
  });
});
