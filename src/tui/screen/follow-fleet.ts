import { createSignal, onCleanup } from "solid-js";
import type { ApiFleet } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import type { Guard } from "./guard.ts";

/** Milliseconds between two looks at the fleet. OpenCode asks it no more often. */
const LOOK_EVERY_MS = 5_000;

/**
 * Looks at the fleet again and again for as long as what calls this is drawn. The result is reactive; undefined while nothing
 * is known of a fleet: an OpenCode that is gone is named elsewhere, and an older one knows no fleet.
 */
export const followFleet = (client: Pick<StatusApiClient, "fleet">, guard: Guard): (() => ApiFleet | undefined) => {
  const [fleet, setFleet] = createSignal<ApiFleet>();
  let isDrawn = true;
  const look = () =>
    guard.start("the fleet could not be looked at", async () => {
      const result = await client.fleet();
      if (isDrawn) setFleet(result.ok ? result.value : undefined);
    });
  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  onCleanup(() => {
    isDrawn = false;
    clearInterval(timer);
  });
  return fleet;
};
