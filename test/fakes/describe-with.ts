import { beforeAll, describe } from "vitest";

/**
 * Groups tests that need a program. Where it is not installed they are skipped with a warning; in CI they fail.
 * @param missing what to do where it is not installed
 */
export const describeWith = (
  executable: string | undefined,
  missing: string,
  name: string,
  tests: () => void,
): void => {
  if (executable) return void describe(name, tests);
  if (!process.env.CI) {
    console.warn(`Skipped: ${name}. ${missing}`);
    return void describe.skip(`${name} (${missing})`, tests);
  }
  describe(name, () => {
    beforeAll(() => {
      throw new Error(missing);
    });
    tests();
  });
};
