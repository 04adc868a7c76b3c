import type { Receipt } from "../../../receipt.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Receipts } from "../../receipts/receipts.ts";
import type { EffectHandlers } from "./effect-handler.ts";

/** What the receipts of runs are written with. */
export interface ReceiptEffectDeps {
  clock: Clock;
  receipts: Pick<Receipts, "ifKnown" | "write">;
}

/** Creates the handler of the effect that writes down what was observed of a run. */
export const createReceiptEffect = ({ clock, receipts }: ReceiptEffectDeps): EffectHandlers<"writeReceipt"> => {
  const written = (receipt: Receipt) => ({ type: "RECEIPT_WRITTEN", at: clock.now(), receipt }) as const;
  return {
    writeReceipt: {
      taskId: ({ sessionID }) => sessionID,
      know: (effect) => {
        const receipt = receipts.ifKnown(effect);
        return receipt && { type: "TASK", id: effect.sessionID, event: written(receipt) };
      },
      // By the time that the host has answered, the task may be at rest.
      perform: async (effect, charts) => {
        charts.send(effect.sessionID, written(await receipts.write(effect)));
        return undefined;
      },
      // The run has ended without it.
      onFault: () => undefined,
    },
  };
};
