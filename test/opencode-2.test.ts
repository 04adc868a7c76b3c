import { expect, test } from "vitest";
import plugin from "../src/index.ts";

/** What OpenCode 1.18.33 passes from its second core. */
const OF_1 = ["agent", "aisdk", "catalog", "command", "integration", "reference", "skill", "directory", "options"];

test("OpenCode 2 is told in a sentence that the plugin does not work there", () => {
  expect(() => plugin.setup({ session: {}, tool: {}, event: {} })).toThrow(
    "opencode-taskchart works with OpenCode 1 (1.18.29 or newer), and not with OpenCode 2 yet",
  );
});

test.each([[Object.fromEntries(OF_1.map((key) => [key, {}]))], [undefined], [null], ["context"]])(
  "OpenCode 1 is not disturbed: %j",
  (context) => {
    expect(plugin.setup(context)).toBeUndefined();
  },
);
