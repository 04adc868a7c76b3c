import { join } from "node:path";
import { expect, test } from "vitest";
import { dataFolder } from "../../../src/services/platform/data-folder.ts";

test("data are kept where XDG says, and a relative path there says nothing", () => {
  expect(dataFolder({ XDG_DATA_HOME: "/data" })).toBe(join("/data", "opencode-taskchart"));
  for (const env of [{}, { XDG_DATA_HOME: "" }, { XDG_DATA_HOME: "data" }]) {
    expect(dataFolder(env)).toMatch(/^\/.*\.local.share.opencode-taskchart$/);
  }
});
