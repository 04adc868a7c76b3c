import { expect } from "vitest";
import type { Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

/** The newest of so many notices that the parent got: what a person sees of it, and what only the model does. */
export const newestOf = (count: number, stage: Stage): { visible: string; hidden: string } => {
  const notices = stage.notices();
  expect(notices).toHaveLength(count);
  const newest = notices.at(-1) ?? [];
  expect(newest.map(({ synthetic = false }) => synthetic)).toEqual([false, true]);
  const [visible, hidden] = newest;
  return { visible: visible?.text ?? "", hidden: hidden?.text ?? "" };
};

/** A task of another batch of the same parent ends, and its notice is delivered. */
export const endOtherBatch = async (stage: Stage): Promise<void> => {
  stage.host.finish(await stage.launch({}, { messageID: "msg_earlier" }), "done before");
  await settled();
};
