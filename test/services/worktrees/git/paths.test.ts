import { afterEach, expect, test, vi } from "vitest";
import {
  byteItems,
  bytesOf,
  decodePath,
  firstOf,
  GitError,
  gitAt,
  isText,
  items,
  lineOf,
  readable,
  refusedPart,
  withoutLocations,
} from "../../../../src/services/worktrees/git/git.ts";
import { temporaryFolder } from "../../../fakes/repository.ts";

const bytes = (path: string) => Buffer.from(path).toString("latin1");

test.each([
  ["none", "src/a.git/b", undefined],
  ["none that only begins so", ".gitignore", undefined],
  [".git", ".git", ".git"],
  ["in a folder", "a/.git/config", "a/.git"],
  ["in capitals", "a/.GIT/b/c", "a/.GIT"],
  ["the short name of an old disk", "GIT~1/hooks", "GIT~1"],
  ["none that is longer than the short name", "git~12", undefined],
  ["with dots and spaces after it", "a/.git. ./b", "a/.git. ."],
  ["with a stream of a disk after it", ".git::$INDEX_ALLOCATION/x", ".git::$INDEX_ALLOCATION"],
  ["with a backslash after it", ".git\\hooks", ".git\\hooks"],
  ["with what is not seen in it", bytes("a/.g\u200cit/b"), bytes("a/.g\u200cit")],
])("a part of a path that git refuses is found: %s", (_, path, part) => {
  expect(refusedPart(path)).toBe(part);
});

test("paths are bytes until people read them, each once and in order", () => {
  expect(readable([bytes("b/ä"), "a", bytes("b/ä")])).toEqual(["a", "b/ä"]);
  expect(decodePath(bytes("ä"))).toBe("ä");
  expect([isText(bytes("ä")), isText("\xe4")]).toEqual([true, false]);
  expect(bytesOf("/top", "a\xe4")).toEqual(Buffer.from([...Buffer.from("/top/a"), 0xe4]));
});

test("what git printed is read as a line, or as items that end with a zero", () => {
  const answer = (text: string) => ({ code: 0, stdout: Buffer.from(text) });
  expect([lineOf(answer("a b\n")), lineOf(answer("a\r\n")), lineOf(answer("a\n\n")), lineOf(answer("a"))]).toEqual([
    "a b",
    "a",
    "a\n",
    "a",
  ]);
  expect(items(answer("a\0ä\0"))).toEqual(["a", "ä"]);
  expect(byteItems(answer("a\0ä\0"))).toEqual(["a", bytes("ä")]);
  expect([items(answer("")), byteItems(answer(""))]).toEqual([[], []]);
});

test.each([
  [["a"], "a"],
  [["a", "b", "c"], "a, b, c"],
  [["a", "b", "c", "d", "e"], "a, b, c, and 2 more"],
])("of %j three are named, and how many more there are", (all, named) => {
  expect(firstOf(all)).toBe(named);
});

test.each([
  ["GIT_DIR"],
  ["GIT_WORK_TREE"],
  ["GIT_INDEX_FILE"],
  ["GIT_COMMON_DIR"],
  ["GIT_OBJECT_DIRECTORY"],
  ["GIT_ALTERNATE_OBJECT_DIRECTORIES"],
  ["GIT_NAMESPACE"],
  ["GIT_PREFIX"],
])("a program does not get %s, by which git would work elsewhere", (name) => {
  const kept = { PATH: "/bin", GIT_SSH: "ssh", HOME: "" };
  expect(withoutLocations({ ...kept, [name]: "/elsewhere" })).toEqual(kept);
});

afterEach(() => vi.unstubAllEnvs());

test("a folder that is no repository is refused in git's words", async () => {
  const folder = temporaryFolder();
  vi.stubEnv("GIT_CEILING_DIRECTORIES", folder);
  await expect(gitAt(folder, ["rev-parse", "HEAD"])).rejects.toEqual(
    new GitError("not a git repository (or any of the parent directories): .git", 128),
  );
});

test("where git cannot be started, the error says so, and has no code", async () => {
  const error = await gitAt("/no/such/folder", ["status"]).catch((error) => error);
  expect(error).toMatchObject({ name: "GitError", code: undefined });
  expect(error.message).toMatch(/^git could not be started: .*ENOENT/);
});

test("git is looked for in no folder that is named relatively, and its words are English", async () => {
  vi.stubEnv("PATH", `bin:.:${process.env.PATH}`);
  vi.stubEnv("LC_ALL", "de_DE.UTF-8");
  vi.stubEnv("GIT_DIR", "/elsewhere");
  vi.stubEnv("GIT_SSH_COMMAND", "my-ssh");
  const asked = 'printf "%s\\n" "$PATH" "$LC_ALL" "$GIT_DIR" "$GIT_SSH_COMMAND" "$GIT_TERMINAL_PROMPT"';
  const answer = await gitAt(temporaryFolder(), ["-c", `alias.say=!${asked}`, "say"]);
  const [path = "", ...rest] = lineOf(answer).split("\n");
  expect(path.split(":").filter((folder) => !folder.startsWith("/"))).toEqual([]);
  expect(rest).toEqual(["C", "", "my-ssh", "0"]);
});
