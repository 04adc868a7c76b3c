import type { Usage } from "../../task.ts";

const CENT = 0.01;

/** Returns a cost to the cent, as OpenCode writes it beside the panel. What is less than a cent stays as it is. */
export const inCents = ({ tokens, cost }: Usage): Usage => ({
  tokens,
  cost: cost < CENT ? cost : Math.round(cost / CENT) * CENT,
});
