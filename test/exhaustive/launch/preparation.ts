import { AT } from "../charts.ts";
import { isOfCopy, type LaunchFamily } from "./family.ts";
import { hears, inHost, type Outcome, reason, throws, type Waiting, when } from "./outcomes.ts";
import { messageOf, part, sessionIdOf, type World } from "./world.ts";

/** Creates what may become of the calls by which a session is created, found, and prepared for its first prompt. */
export const createPreparation = (family: LaunchFamily) => {
  const { mistake, isUnconfirmed = false, isUnreliable = false, refuses = false } = family;

  const creating = (waiting: Waiting): Outcome[] => {
    const { who, slot, before, operation } = waiting;
    const { row, stage } = operation;
    const id = sessionIdOf(row);
    const unconfirmed = { type: "CREATION_UNCONFIRMED", at: AT, reason } as const;
    const isComing = before.requests[row] !== 0;
    // It was deleted while it was copied.
    if (stage === "asked" && !isComing) return [hears(waiting, `hears nothing of ${id}`, unconfirmed)];
    return [
      ...when(stage === "created", {
        name: `${who} hears that ${id} is created`,
        work: (turn) => {
          if (mistake === "a launch is stored after its session was created") turn.beginRow(row);
          turn.answer(slot, { type: "SESSION_CREATED", at: AT, sessionID: id });
        },
      }),
      ...when(isUnconfirmed, hears(waiting, `hears nothing of ${id}`, unconfirmed, false)),
      ...when(isUnconfirmed && isComing, {
        ...{ name: `${who} asks for ${id} in vain, and hears nothing`, isExpected: false },
        work: (turn) => {
          turn.world.requests[row] = 0;
          turn.answer(slot, unconfirmed);
        },
      }),
      ...when(refuses && part(before.sessions, row).stage === "none", {
        ...{ name: `${who} is refused ${id}`, isExpected: false },
        work: (turn) => {
          turn.world.requests[row] = 0;
          turn.answer(slot, { type: "CREATION_REFUSED", at: AT, reason });
        },
      }),
    ];
  };

  const finding = (waiting: Waiting): Outcome[] => {
    const { before, operation } = waiting;
    const { row, stage } = operation;
    const { stage: session, isMarked } = part(before.sessions, row);
    const sessionID = sessionIdOf(row);
    if (stage === "found") return [hears(waiting, `finds ${sessionID}`, { type: "SESSION_FOUND", at: AT, sessionID })];
    if (stage === "missing")
      return [hears(waiting, `does not find ${sessionID}`, { type: "SESSION_NOT_FOUND", at: AT })];
    const isThere = session === "there" && isMarked;
    const isListed = inHost(waiting, `OpenCode lists ${sessionID}`, "found");
    const isNotListed = inHost(waiting, `OpenCode does not list ${sessionID}`, "missing", { isExpected: !isThere });
    return [
      ...when(isThere, isListed),
      ...when(!isThere || isUnreliable, isNotListed),
      ...when(refuses, throws(waiting)),
    ];
  };

  /** What becomes of a call that changes a session: done, done without an answer, lost, or refused. */
  const changing = (
    waiting: Waiting,
    what: string,
    { done, unanswered, change }: { done: string; unanswered: string; change: (world: World) => void },
  ): Outcome[] => {
    const { before, operation } = waiting;
    if (part(before.sessions, operation.row).stage !== "there")
      return [inHost(waiting, `OpenCode does not find ${sessionIdOf(operation.row)}`, "failed")];
    const fails = (how: string, stage: string, more: { change?: (world: World) => void } = {}): Outcome =>
      inHost(waiting, `OpenCode ${what}${how}`, stage, { isExpected: false, ...more });
    return [
      inHost(waiting, `OpenCode ${what}`, done, { change }),
      ...when(isUnreliable, fails(", and does not say so", unanswered, { change })),
      ...when(isUnreliable, fails(" in vain", unanswered)),
      ...when(refuses, fails(" not: it refuses", "failed")),
    ];
  };

  const failed = (waiting: Waiting): Outcome =>
    hears(waiting, `hears that ${sessionIdOf(waiting.operation.row)} cannot be prepared`, {
      ...({ type: "PREPARATION_FAILED", at: AT, reason } as const),
    });

  const cutting = (waiting: Waiting): Outcome[] => {
    const { row, stage } = waiting.operation;
    const id = sessionIdOf(row);
    if (stage === "cut") return [hears(waiting, `hears that ${id} is cut`, { type: "COPY_CUT", at: AT })];
    if (stage === "failed") return [failed(waiting)];
    const field = stage === "asked" ? "isMarked" : "isCut";
    return changing(waiting, `${stage === "asked" ? "marks" : "cuts"} ${id}`, {
      ...{ done: stage === "asked" ? "marked" : "cut", unanswered: "failed" },
      change: ({ sessions }) => {
        part(sessions, row)[field] = true;
      },
    });
  };

  const informing = (waiting: Waiting): Outcome[] => {
    const { before, operation } = waiting;
    const { row, stage } = operation;
    const what = `the preamble of ${sessionIdOf(row)}`;
    if (stage === "shown") return [hears(waiting, `is shown ${what}`, { type: "PREAMBLE_STORED", at: AT })];
    if (stage === "missing") return [hears(waiting, `is not shown ${what}`, { type: "PREAMBLE_NOT_STORED", at: AT })];
    if (stage === "failed") return [failed(waiting)];
    if (stage === "asked")
      return changing(waiting, `stores ${what}`, {
        ...{ done: "stored", unanswered: "stored" },
        change: ({ sessions }) => {
          part(sessions, row).hasPreamble = true;
        },
      });
    const { stage: session, hasPreamble } = part(before.sessions, row);
    const isThere = session === "there" && hasPreamble;
    return [
      ...when(isThere, inHost(waiting, `OpenCode shows ${what}`, "shown")),
      ...when(
        !isThere || isUnreliable,
        inHost(waiting, `OpenCode does not show ${what}`, "missing", { isExpected: !isThere }),
      ),
    ];
  };

  const reading = (waiting: Waiting): Outcome[] => {
    const isThere = waiting.before.parent === "there" && !family.isUnreadable;
    const messageID = messageOf(2 * waiting.slot + 1);
    const notRead = { type: "CONVERSATION_NOT_READ", at: AT, reason } as const;
    return [
      ...when(isThere, hears(waiting, "reads the conversation", { type: "CONVERSATION_READ", at: AT, messageID })),
      ...when(!isThere || isUnreliable || refuses, hears(waiting, "cannot read the conversation", notRead, !isThere)),
      ...when(refuses, throws(waiting)),
    ];
  };

  /** What OpenCode does with a request for a session, whoever still waits for it. */
  const requested = (
    before: World,
    row: number,
  ): { name: string; work(world: World, done: (p: number) => void): void } | undefined => {
    const by = part(before.requests, row);
    const id = sessionIdOf(row);
    const isCopy = isOfCopy(family, row);
    const { stage } = part(before.sessions, row);
    if (by === 0) return undefined;
    if (isCopy && stage === "none" && before.parent !== "there") {
      return {
        name: `OpenCode cannot copy the conversation as ${id}`,
        work: ({ requests }) => {
          requests[row] = 0;
        },
      };
    }
    if (isCopy && stage === "none") {
      return {
        name: `OpenCode begins to copy the conversation as ${id}`,
        work: ({ sessions }) => {
          part(sessions, row).stage = "growing";
        },
      };
    }
    return {
      name: isCopy ? `OpenCode has copied the conversation as ${id}` : `OpenCode creates ${id}`,
      work: ({ sessions, requests }, done) => {
        Object.assign(part(sessions, row), { stage: "there", isMarked: !isCopy });
        requests[row] = 0;
        done(by - 1);
      },
    };
  };

  return { creating, finding, cutting, informing, reading, requested };
};
