import type { ModelRef } from "../../task.ts";

/** Returns the name of a model as people and agents write it: `provider/model`, or `provider/model#variant`. */
export const modelName = ({ providerID, modelID, variant }: ModelRef): string =>
  `${providerID}/${modelID}${variant === undefined ? "" : `#${variant}`}`;
