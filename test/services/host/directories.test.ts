import { expect, test } from "vitest";
import { createReadDirectories, showsWork } from "../../../src/services/host/directories.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const MINUTE = 60_000;

const setUp = () => {
  const clock = createVirtualClock();
  const directories = createReadDirectories(clock);
  const closed: string[] = [];
  const close = async (directory: string) => void closed.push(directory);
  /** Reads of `/b`, which OpenCode opens for that. */
  const readThatOpens = () => directories.read(["/b"], async () => directories.open("/b"), close);
  const readAgain = () => directories.read(["/b"], async () => "read", close);
  return { clock, directories, closed, readThatOpens, readAgain };
};

test("a directory that a read opens is only read, and is closed a minute after the last read", async () => {
  const { clock, closed, readThatOpens, readAgain } = setUp();
  const opened = await readThatOpens();
  expect(opened.isOnlyRead()).toBe(true);
  await clock.advance(MINUTE - 1);
  expect(await readAgain()).toBe("read");
  await clock.advance(MINUTE - 1);
  expect(closed).toEqual([]);
  await clock.advance(1);
  expect(closed).toEqual(["/b"]);
});

test("a directory that was open before it was read is not only read, and stays open", async () => {
  const { clock, directories, closed, readAgain } = setUp();
  const opened = directories.open("/b");
  await readAgain();
  expect(opened.isOnlyRead()).toBe(false);
  await clock.advance(10 * MINUTE);
  expect(closed).toEqual([]);
});

test("one in which somebody works since stays open", async () => {
  const { clock, closed, readThatOpens } = setUp();
  const opened = await readThatOpens();
  opened.use();
  expect(opened.isOnlyRead()).toBe(false);
  await clock.advance(10 * MINUTE);
  expect(closed).toEqual([]);
});

test("one that is opened after the read has ended is a person's", async () => {
  const { clock, directories, closed, readAgain } = setUp();
  await readAgain();
  expect(directories.open("/b").isOnlyRead()).toBe(false);
  await clock.advance(10 * MINUTE);
  expect(closed).toEqual([]);
});

test("one that OpenCode closes itself is not closed once more, and a read that fails closes what it opened", async () => {
  const { clock, directories, closed, readThatOpens } = setUp();
  (await readThatOpens()).close();
  await clock.advance(10 * MINUTE);
  expect(closed).toEqual([]);
  const fails = async () => {
    directories.open("/b");
    throw new Error("no answer");
  };
  const close = async (directory: string) => void closed.push(directory);
  await expect(directories.read(["/b"], fails, close)).rejects.toThrow("no answer");
  await clock.advance(MINUTE);
  expect(closed).toEqual(["/b"]);
});

test("a long read keeps a directory open however short the others are", async () => {
  const { clock, directories, closed, readThatOpens } = setUp();
  const long = Promise.withResolvers<void>();
  const reading = directories.read(
    ["/b"],
    () => long.promise,
    async (directory) => closed.push(directory),
  );
  await readThatOpens();
  await clock.advance(10 * MINUTE);
  expect(closed).toEqual([]);
  long.resolve();
  await reading;
  await clock.advance(MINUTE);
  expect(closed).toEqual(["/b"]);
});

test("work shows in events of sessions, messages, requests and terminals; what OpenCode does by itself is none", () => {
  const types = ["session.status", "message.updated", "permission.asked", "question.asked", "pty.created"];
  expect(types.filter((type) => !showsWork(type))).toEqual([]);
  const own = ["server.connected", "file.watcher.updated", "lsp.updated", "vcs.branch.updated", "installation.updated"];
  expect(own.filter(showsWork)).toEqual([]);
});
