import type { Receipt } from "../../../receipt.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Receipts } from "../../receipts/receipts.ts";
import type { EffectHandlers } from "./effect-handler.ts";

/** What the receipts of runs are written with. */
export interface ReceiptEffectDeps {
  clock: Clock;
  receipts: Pick<Receipts, "ifKnown" | "write">;
}

/** Creates the handlers of the effects that write down what was observed of a run. */
export const createReceiptEffects = ({
  clock,
  receipts,
}: ReceiptEffectDeps): EffectHandlers<"writeReceipt" | "completeReceipt"> => {
  const written = (receipt: Receipt) => ({ type: "RECEIPT_WRITTEN", at: clock.now(), receipt }) as const;
  return {
    writeReceipt: {
      taskId: ({ sessionID }) => sessionID,
      // Always: so the answer is stored together with the end.
      know: (effect) => {
        const receipt = receipts.ifKnown(effect);
        const event = receipt ? written(receipt) : ({ type: "RECEIPT_INCOMPLETE", at: clock.now() } as const);
        return { type: "TASK", id: effect.sessionID, event };
      },
      perform: () => undefined,
      onFault: () => undefined,
    },
    completeReceipt: {
      taskId: ({ sessionID }) => sessionID,
      perform: async (effect) => ({
        type: "TASK",
        id: effect.sessionID,
        event: written(await receipts.write(effect)),
      }),
      // The next process that takes the task over asks again.
      onFault: () => undefined,
    },
  };
};
