import { accessSync, constants } from "node:fs";

const isThere = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Returns the first of these paths at which there is a program; undefined where there is none. */
export const findProgram = (places: readonly string[]): string | undefined => places.find(isThere);
