import axe from "axe-core";
import type { Page } from "playwright-core";

/** Returns what axe-core finds in the page as it is, by default with all its rules, each with the first element that has it. */
export const findings = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  await page.evaluate(axe.source);
  const options = rules === undefined ? {} : { runOnly: rules };
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as axe.AxeResults;
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html} (${nodes[0]?.failureSummary})`);
};
