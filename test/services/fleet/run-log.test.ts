import { expect, test } from "vitest";
import type { Membership, OriginEngine } from "../../../src/services/fleet/member.ts";
import { reportRun } from "../../../src/services/fleet/run-log.ts";
import { packPatch, WIRE_VERSION } from "../../../src/services/fleet/wire-messages.ts";
import { START } from "../../fakes/task-input.ts";
import { claimedTask } from "../../machines/task/driven-task.ts";

test("what an agent changed gets the same worktree where the broker lost the end and its worker wrote it once more", async () => {
  const { snapshot } = claimedTask();
  const worktrees: string[] = [];
  const receiveChanges: OriginEngine["receiveChanges"] = async ({ id }) => {
    worktrees.push(id);
    return { ok: true, value: { id, directory: "/", isShared: true } };
  };
  const charts = () => ({ snapshotOf: () => snapshot, send: () => undefined });
  const engine = { charts, receiveChanges } as unknown as OriginEngine;
  const member = { clock: { now: () => START } } as unknown as Membership;
  const { facts, run } = snapshot.context;
  const report = (claim: { epoch: number; seq: number }, nonce: string) => {
    const about = { v: WIRE_VERSION, at: START, completedAt: START, outcome: "completed" } as const;
    const ended = { ...about, type: "ended", nonce, claim, patch: packPatch(Buffer.from("one")) ?? "" } as const;
    const log = { last: 2, claims: [], asked: [], replies: [], isStopRequested: false, isReceived: false, ended };
    return reportRun(member, engine, { origin: "srv_origin", task: facts.sessionID, run: run.index }, log);
  };
  await report({ epoch: START, seq: 1 }, "srv_1 ses_1");
  await report({ epoch: START + 1, seq: 1 }, "srv_1 ses_1");
  expect(new Set(worktrees).size).toBe(1);
  await report({ epoch: START, seq: 5 }, "srv_1 ses_2");
  expect(new Set(worktrees).size).toBe(2);
});
