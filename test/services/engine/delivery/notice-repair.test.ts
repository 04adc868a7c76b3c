import { expect, test } from "vitest";
import { createNoticeRepair } from "../../../../src/services/engine/delivery/notice-repair.ts";
import type { ModelMessage } from "../../../../src/services/host/host.ts";

const part = (id: string, text: string) => ({ id, text, synthetic: false });
const PROMPT = { messageID: "msg_2", parts: [part("prt_1", "one"), part("prt_2", "two")], runs: [], toasts: [] };

const message = (id: string, parts: { id: string }[], sessionID = "ses_1"): ModelMessage => ({
  info: { id, sessionID, role: "user", time: { created: 0 } },
  parts,
});

test("parts that the host has not stored yet are added in order, and no others", () => {
  const repair = createNoticeRepair();
  repair.expect("ses_1", PROMPT);
  const messages = [message("msg_1", []), message("msg_2", [{ id: "prt_1" }])];
  expect(repair.addMissingParts(messages)).toBe(1);
  expect(messages).toEqual([
    message("msg_1", []),
    message("msg_2", [
      { id: "prt_1" },
      { ...part("prt_2", "two"), type: "text", sessionID: "ses_1", messageID: "msg_2" } as { id: string },
    ]),
  ]);
});

test("a prompt is checked until a model was sent all of it, and then no more", () => {
  const repair = createNoticeRepair();
  repair.expect("ses_1", PROMPT);
  expect(repair.addMissingParts([message("msg_1", [])])).toBe(0);
  expect(repair.addMissingParts([message("msg_2", [])])).toBe(2);
  expect(repair.addMissingParts([message("msg_2", [{ id: "prt_1" }, { id: "prt_2" }])])).toBe(0);
  expect(repair.addMissingParts([message("msg_2", [])])).toBe(0);
});

test("other sessions' requests, and none at all, are left alone", () => {
  const repair = createNoticeRepair();
  repair.expect("ses_1", PROMPT);
  const other = [message("msg_2", [], "ses_2")];
  expect(repair.addMissingParts(other)).toBe(0);
  expect(other[0]?.parts).toEqual([]);
  expect(repair.addMissingParts([])).toBe(0);
});
