import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pathsOf } from "../../src/services/worktrees/folders.ts";
import { countChanges } from "../../src/services/worktrees/read-changes.ts";
import { readRecord } from "../../src/services/worktrees/record.ts";
import { dropWorktree } from "../../src/services/worktrees/remove-worktree.ts";
import { newRepository } from "../fakes/repository.ts";
import { makeTaskWorktree } from "../fakes/task-worktree.ts";
import { PATIENCE_MS } from "../patience.ts";
import { occupy } from "../services/http/ports.ts";
import { boardStage } from "./board-stage.ts";
import { describeInChromium, openPage } from "./chromium.ts";

const until = <T>(read: () => Promise<T> | T) => expect.poll(read, { timeout: PATIENCE_MS });

const start = async () => {
  const stage = await boardStage({ port: await occupy(0) });
  onTestFinished(stage.stop);
  return {
    ...stage,
    /** Opens a task as `opencode-taskchart open` does: with the token in the fragment. */
    open: (id: string, token = stage.token) => openPage(`${stage.url}/?task=${id}#token=${token}`),
  };
};

describeInChromium("acting on the board", () => {
  test("the token leaves the address at once, is kept for this tab only, and is nowhere in the page", {
    tags: "gate",
  }, async () => {
    const { source, token, url, open } = await start();
    const { sessionID } = source.launch({ description: "guarded" });
    const { page, context } = await open(sessionID);
    await until(() => page.getByRole("button", { name: "Cancel task" }).isVisible()).toBe(true);
    expect(page.url()).toBe(`${url}/?task=${sessionID}`);
    expect(await page.content()).not.toContain(token);
    expect(await page.evaluate("JSON.stringify(localStorage) + document.cookie")).toBe("{}");
    await page.reload();
    await until(() => page.getByRole("button", { name: "Cancel task" }).isVisible()).toBe(true);
    const other = await context.newPage();
    await other.goto(`${url}/?task=${sessionID}`);
    await until(() => other.locator(".read-only").isVisible()).toBe(true);
  });

  test("without the token nothing can be done, and it says how it can", async () => {
    const { source, url, token } = await start();
    const since = new Date().toISOString();
    const request = { id: "per_1", kind: "permission" as const, what: "run make", since, always: [] };
    const { sessionID } = source.launch({ attention: { ...request, requests: [request] } });
    const { page } = await openPage(`${url}/?task=${sessionID}`);
    await until(() => page.locator(".requests").textContent()).toContain("run make");
    expect(await page.locator(".requests button, .actions textarea, .danger").count()).toBe(0);
    expect(await page.locator(".read-only").textContent()).toContain("opencode-taskchart open");
    await page.getByRole("button", { name: "or enter it" }).click();
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Use it" }).click();
    await until(() => page.getByRole("button", { name: "Allow once" }).isVisible()).toBe(true);
  });

  test("cancelling asks first, and names the tasks that stop with it, however deep", { tags: "gate" }, async () => {
    const { source, open } = await start();
    const top = source.launch({ description: "the top" });
    const middle = source.launch({ description: "the middle", parentTaskId: top.sessionID });
    source.end(middle.sessionID);
    source.launch({ description: "the bottom", parentTaskId: middle.sessionID });
    source.launch({ description: "the neighbour" });
    const { page } = await open(top.sessionID);
    await page.getByRole("button", { name: "Cancel task" }).click();
    const dialog = page.locator("dialog");
    await until(() => dialog.textContent()).toContain("1 task that it launched stops with it:");
    expect(await dialog.locator("li").allTextContents()).toEqual([" the bottom"]);
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await until(() => dialog.isVisible()).toBe(false);
    expect(source.asked).toEqual([]);
    // Escape closes the question, and not the task.
    await page.getByRole("button", { name: "Cancel task" }).click();
    await page.keyboard.press("Escape");
    await until(() => dialog.isVisible()).toBe(false);
    expect(await page.locator("#details-title").textContent()).toBe("the top");

    await page.getByRole("button", { name: "Cancel task" }).click();
    await dialog.getByRole("button", { name: "Cancel all 2" }).click();
    await until(() => source.asked).toEqual([`cancel ${top.sessionID}`]);
    source.end(top.sessionID, "cancelled");
    await until(() => page.locator(".standing").textContent()).toContain("Cancelled");
    await until(() => page.getByRole("button", { name: "Cancel task" }).count()).toBe(0);
  });

  test("a running task is steered and a completed one resumed; what is refused is said", async () => {
    const { source, open } = await start();
    const { sessionID } = source.launch();
    const { page } = await open(sessionID);
    await page.getByLabel("Further instruction").fill("Mind the gap");
    await page.getByRole("button", { name: "Steer" }).click();
    await until(() => source.asked).toEqual([`steer with "Mind the gap" ${sessionID}`]);
    await until(() => page.getByLabel("Further instruction").inputValue()).toBe("");
    source.end(sessionID);
    await page.getByLabel("Follow-up prompt").fill("Once more");
    source.refusal = "task is busy with something else";
    await page.getByRole("button", { name: "Resume" }).click();
    await until(() => page.locator(".actions .problem").textContent()).toContain("busy with something else");
    expect(await page.getByLabel("Follow-up prompt").inputValue()).toBe("Once more");
    source.refusal = undefined;
    await page.getByRole("button", { name: "Resume" }).click();
    await until(() => source.asked.at(-1)).toBe(`resume with "Once more" ${sessionID}`);
    await until(() => page.locator(".actions .problem").count()).toBe(0);
  });

  test("a task that failed is retried, with a prompt or without", async () => {
    const { source, open } = await start();
    const { sessionID } = source.launch();
    source.end(sessionID, "error");
    const { page } = await open(sessionID);
    await page.getByRole("button", { name: "Retry" }).click();
    await until(() => source.asked).toEqual([`retry with "" ${sessionID}`]);
    await page.getByLabel("Prompt, if any").fill("The key is renewed");
    await page.getByRole("button", { name: "Retry" }).click();
    await until(() => source.asked.at(-1)).toBe(`retry with "The key is renewed" ${sessionID}`);
  });

  test("a task whose model failed is retried with another one; one that its model cannot take needs another", async () => {
    const { source, open } = await start();
    const { sessionID } = source.launch();
    source.end(sessionID, "error");
    const { page } = await open(sessionID);
    await page.getByLabel("Another model, if any").fill("openai/gpt-5.2");
    await page.getByRole("button", { name: "Retry" }).click();
    await until(() => source.asked).toEqual([`retry with "" by openai/gpt-5.2 ${sessionID}`]);
    await until(() => page.getByLabel("Another model, if any").inputValue()).toBe("");

    const overflow = source.launch();
    source.end(overflow.sessionID, "error");
    const error = { kind: "provider", name: "ContextOverflowError", message: "The conversation is too long." } as const;
    source.change(overflow.sessionID, { error, allowed: [] });
    const other = await open(overflow.sessionID);
    expect(await other.page.getByRole("button", { name: "Retry" }).isDisabled()).toBe(true);
    await other.page.getByLabel("Another model").fill("openai/large");
    await other.page.getByRole("button", { name: "Retry" }).click();
    await until(() => source.asked.at(-1)).toBe(`retry with "" by openai/large ${overflow.sessionID}`);
  });

  test("what a task changed in its worktree is shown line by line, and applied or discarded; a conflict shows both sides", async () => {
    const { source, folder, open } = await start();
    const project = newRepository({ "a.txt": "one\n" });
    const work = async (id: string, content: string) => {
      const root = join(folder, "worktrees");
      const { tree, worktree } = await makeTaskWorktree(project, root, id, `ses_${id}`);
      tree.write({ "a.txt": content });
      return source.end(source.launch({ sessionID: `ses_${id}`, description: `write ${content}`, worktree }).sessionID);
    };
    await work("first", "ONE\n");
    await work("second", "uno\n");
    const { page } = await open("ses_first");
    const section = page.locator("section", { hasText: "Changed in its worktree" }).last();
    await until(() => section.textContent()).toContain("1 file changed (+1 −1)");
    await until(() => section.locator("summary").allTextContents()).toEqual(["a.txt  +1 −1"]);
    const lines = section.getByLabel("What was changed in a.txt");
    expect(await lines.locator(".removed code").allTextContents()).toEqual(["one"]);
    expect(await lines.locator(".added code").allTextContents()).toEqual(["ONE"]);
    await section.locator("summary").click();
    expect(await lines.count()).toBe(0);
    await section.getByRole("button", { name: `Apply to ${project.top}` }).click();
    await until(() => section.textContent()).toContain("They were applied.");
    expect(project.read("a.txt")).toBe("ONE\n");
    expect(await section.getByRole("button").count()).toBe(0);

    const { page: other } = await open("ses_second");
    const conflicting = other.locator("section", { hasText: "Changed in its worktree" }).last();
    await conflicting.getByRole("button", { name: /^Apply/ }).click();
    await until(() => conflicting.getByRole("alert").textContent()).toMatch(
      /a\.txt \(content\)\n\s+<<<<<<< yours\n\s+ONE\n\s+=======\n\s+uno\n[\s\S]*Its worktree stays: \S+second\S*\n[\s\S]*opencode-taskchart apply ses_second/,
    );
    await conflicting.getByRole("button", { name: "Discard …" }).click();
    await conflicting.getByRole("button", { name: "Keep it" }).click();
    await conflicting.getByRole("button", { name: "Discard …" }).click();
    await conflicting.getByRole("button", { name: "Remove the worktree, keep a patch" }).click();
    await until(() => conflicting.textContent()).toContain("They were discarded.");
    expect(project.read("a.txt")).toBe("ONE\n");

    const { sessionID } = await work("third", "two\n");
    const paths = pathsOf(join(folder, "worktrees"), "third");
    const record = readRecord(paths);
    if (record?.base === undefined) throw new Error("the worktree has no record");
    await countChanges(paths, record, { base: record.base, run: 0, now: 0 });
    await dropWorktree(paths, record, { why: "expired", at: 0 });
    const { page: late } = await open(sessionID);
    const expired = late.locator("section", { hasText: "Changed in its worktree" }).last();
    await until(() => expired.textContent()).toContain(`A patch of them is left: ${paths.patch}`);
    expect(await expired.getByRole("button").allTextContents()).toEqual(["Discard …"]);
    await expired.getByRole("button", { name: "Discard …" }).click();
    await expired.getByRole("button", { name: "Discard it" }).click();
    await until(() => expired.textContent()).toContain("They were discarded.");
  });

  test("permissions and questions are answered where they are shown", { tags: "gate" }, async () => {
    const { source, open } = await start();
    const since = new Date().toISOString();
    const permission = { id: "per_1", kind: "permission" as const, what: "run make", since, always: ["make *"] };
    const questions = [
      { question: "Which file?", options: ["a.ts", "b.ts"], multiple: false, custom: true },
      { question: "Which checks?", options: ["types", "tests", "style"], multiple: true, custom: false },
    ];
    const question = { id: "que_1", kind: "question" as const, what: "Which file?", since, questions };
    const { sessionID } = source.launch({ attention: { ...permission, requests: [permission, question] } });
    const { page } = await open(sessionID);
    await page.getByRole("button", { name: "Always allow make *" }).click();
    await until(() => source.asked).toEqual([`answer {"requestId":"per_1","reply":"always"} ${sessionID}`]);
    await page.getByLabel("Why it is rejected").fill("Not on a Friday");
    await page.getByRole("button", { name: "Reject" }).first().click();
    await until(() => source.asked.at(-1)).toBe(
      `answer {"requestId":"per_1","reply":"reject","message":"Not on a Friday"} ${sessionID}`,
    );
    const answer = page.getByRole("button", { name: "Answer" });
    expect(await answer.isDisabled()).toBe(true);
    await page.getByRole("radio", { name: "a.ts" }).check();
    await page.getByLabel("Your own answer").fill("c.ts");
    await page.getByRole("checkbox", { name: "types" }).check();
    await page.getByRole("checkbox", { name: "style" }).check();
    await answer.click();
    await until(() => source.asked.at(-1)).toBe(
      `answer {"requestId":"que_1","answers":[["c.ts"],["types","style"]]} ${sessionID}`,
    );
  });

  test("a token that is no longer good is forgotten, and the page is read-only again", async () => {
    const { source, open } = await start();
    const { sessionID } = source.launch();
    const { page } = await open(sessionID, "outdated");
    await page.getByLabel("Further instruction").fill("Hello");
    await page.getByRole("button", { name: "Steer" }).click();
    await until(() => page.locator(".read-only").isVisible()).toBe(true);
    expect(await page.locator(".read-only .problem").textContent()).toContain("the token is wrong");
    expect(source.asked).toEqual([]);
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).toBe("{}");
  });
});
