import type { SpecificationName } from "./specifications.ts";

/** A requirement that no test shows, or one of its scenarios, and why. */
export interface WithoutTest {
  specification: SpecificationName;
  requirement: string;
  /** Undefined for a requirement that has none. */
  scenario?: string;
  reason: string;
}

const elisha = (requirement: string, reason: string): WithoutTest => ({
  specification: "elisha-task-domain",
  requirement,
  reason,
});

const subtasks = (requirement: string, reason: string): WithoutTest => ({
  specification: "subagents-and-subtasks",
  requirement,
  reason,
});

export const WITHOUT_TEST: readonly WithoutTest[] = [
  elisha("Directory Structure", "It lists the files of Elisha."),
  elisha(
    "Modifying Tools",
    "It is advice for those who change Elisha. What a tool returns is shown under “Return JSON Strings from Tools”.",
  ),
  elisha(
    "Modifying Hooks",
    "It is advice for those who change Elisha. What follows a compaction is shown under “setupTaskHooks”.",
  ),
  elisha(
    "Include `.ts` Extensions",
    "It is a rule for source code. Here the compiler refuses an import without an extension.",
  ),
  subtasks("Purpose", "It is a summary: each point is a requirement of its own further down."),
  subtasks("Glossary", "It explains words."),
  subtasks(
    "Domain Layer",
    "It is a layer of Coauthor. That a subtask is a task is shown under “Primary Invariants”, its parent's id under “Domain changes”.",
  ),
  subtasks(
    "Application Layer",
    "It is a layer of Coauthor. The fields of a task are shown under “Application changes”.",
  ),
  subtasks("Agents Layer", "It is a layer of Coauthor. Who runs a subtask is shown under “Primary Invariants”."),
  subtasks(
    "Tools Layer",
    "It is a layer of Coauthor. The tools are shown under “Tool Name”, “Tool Result” and “Sequence (Normal Completion)”.",
  ),
  subtasks("Code Touchpoints", "It lists the files of Coauthor."),
  subtasks("Testing Plan", "It lists tests, which are here, each under the requirement that it shows."),
  subtasks(
    "Implementation Steps",
    "It is the order in which Coauthor is changed. What comes of the steps is shown above.",
  ),
];
