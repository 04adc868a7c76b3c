import type { AbandonedWork, TaskRecord } from "../records.ts";
import type { Store } from "../store.ts";
import { createReconnection, type ReconnectionDeps } from "./reconnect.ts";
import { createResilientHistory } from "./resilient-history.ts";
import { createWriteBuffer } from "./write-buffer.ts";

const nothing = (): AbandonedWork => ({ tasks: [], prompts: [], launches: [] });

/**
 * A store in a file, whatever becomes of the file: what cannot be written is kept in memory, and written as soon as that
 * works again. Never throws.
 */
export const createResilientStore = (parts: Omit<ReconnectionDeps, "ledger">): Store => {
  const ledger = createWriteBuffer();
  const lifeline = createReconnection({ ...parts, ledger });
  const { flush, readOr: ask, reopenIfMoved: follow, isConnected, close } = lifeline;
  let isClosed = false;

  /** Notes what has to be written, and writes it if that is possible. */
  const noting =
    <Given>(note: (given: Given) => void) =>
    (given: Given): void => {
      if (isClosed) return;
      note(given);
      flush();
    };

  const get = (taskId: string): TaskRecord | undefined => {
    if (ledger.isRemoved(taskId)) return undefined;
    const unsaved = ledger.get(taskId, "unsaved");
    if (unsaved) return unsaved;
    return ask(
      (store) => {
        const record = store.get(taskId);
        return record && { ...record, task: ledger.progressed(record.task) };
      },
      () => ledger.get(taskId, "any"),
    );
  };

  const isElsewhere = (taskId: string): boolean =>
    !ledger.isRemoved(taskId) &&
    ask(
      (store) => store.isOwnedElsewhere(taskId),
      () => false,
    );

  /** What the file says of a claim; undefined when it cannot say. */
  const claimInFile = (taskId: string): boolean | undefined =>
    flush()
      ? ask<boolean | undefined>(
          (store) => store.claim(taskId),
          () => undefined,
        )
      : undefined;

  if (!isConnected()) flush();
  return {
    ...createResilientHistory({ ledger, lifeline, get, isClosed: () => isClosed }),
    commit: (change) => {
      noting(ledger.commit)(change);
      return ledger.takeLost();
    },
    get,
    list: (filter) =>
      ask(
        (store) => ledger.completed(store.list(filter), filter),
        () => ledger.list(filter),
      ),
    journal: (taskId) => {
      if (ledger.isRemoved(taskId)) return [];
      return ask(
        (store) => [...store.journal(taskId), ...ledger.journal(taskId, "unsaved")],
        () => ledger.journal(taskId, "any"),
      );
    },
    remove: noting(ledger.remove),
    storeProgress: noting(ledger.noteProgress),
    sweep: (retention, now) => {
      if (!flush()) return 0;
      return ask(
        (store) => store.sweep(retention, now),
        () => 0,
      );
    },

    isOwnedElsewhere: isElsewhere,
    isAttended: (taskId) =>
      ask(
        (store) => store.isAttended(taskId),
        () => true,
      ),
    claim: (taskId) => {
      if (isClosed) return false;
      const isMine = claimInFile(taskId);
      const record = isMine === false ? undefined : get(taskId);
      if (!record) return false;
      if (isMine) ledger.hold({ tasks: [record] });
      // As far as is known; should another process claim it meanwhile, it is lost to that when this is written.
      else if (isElsewhere(taskId)) return false;
      else ledger.claim(record);
      return true;
    },
    release: noting(ledger.letGo),

    beginLaunch: noting(ledger.beginLaunch),
    endLaunch: noting(ledger.endLaunch),

    heartbeat: (now) => {
      if (isClosed) return [];
      follow();
      const lost = ask<string[] | undefined>(
        (store) => store.heartbeat(now),
        () => undefined,
      );
      ledger.lose(lost ?? []);
      if (lost || !isConnected()) flush("urgent");
      return ledger.takeLost();
    },
    adopt: (now, wants) => {
      if (!flush()) return nothing();
      const estate = ask((store) => store.adopt(now, wants), nothing);
      ledger.hold(estate);
      return estate;
    },
    close: () => {
      close();
      isClosed = true;
    },
  };
};
