import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import { describeWith } from "../fakes/describe-with.ts";
import { findProgram } from "../fakes/installed-program.ts";

/**
 * Where Chromium may be installed: the path in `CHROMIUM`, or those that Debian and others use. The one without a window
 * computes half as much for the same pages.
 */
const PLACES = process.env.CHROMIUM
  ? [process.env.CHROMIUM]
  : ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** It must not contact anybody by itself. Without a sandbox, since root may not have one. */
export const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where Chromium is; undefined where it is not. */
export const executablePath = findProgram(PLACES);

const MISSING = `There is no Chromium at ${PLACES.join(" or ")}: "apt-get install chromium" gets one, or CHROMIUM names one.`;

/** The browser of this test file: a start takes as long as a test. Each test has a profile of its own in it. */
let browser: Promise<Browser> | undefined;

const closeBrowser = async (): Promise<void> => {
  const opened = await browser;
  browser = undefined;
  await opened?.close();
};

/** Groups tests that need Chromium. Without it they are skipped with a warning; in CI they fail. */
export const describeInChromium = (name: string, tests: () => void): void => {
  const withBrowser = () => {
    afterAll(closeBrowser);
    tests();
  };
  describeWith(executablePath, MISSING, name, withBrowser);
};

/** A page with a profile of its own. */
export interface Opened {
  page: Page;
  context: BrowserContext;
  /** Every address that it requested. */
  requested: string[];
  /** Its faults: what its scripts threw or logged as an error, and what its policy forbade. */
  faults: string[];
}

/**
 * Opens an address for one test. `answers` replaces the internet: nothing else can be reached, except for the `origins` that
 * the address leads to. Requests for a path in `unanswered` fail.
 */
export const openPage = async (
  url: string,
  {
    width = 1280,
    height = 820,
    answers = {},
    origins = [],
    unanswered = [],
  }: {
    width?: number;
    height?: number;
    answers?: Record<string, string>;
    origins?: string[];
    unanswered?: string[];
  } = {},
): Promise<Opened> => {
  browser ??= chromium.launch({ executablePath: executablePath ?? "", args: QUIET });
  const context = await (await browser).newContext({ viewport: { width, height }, reducedMotion: "reduce" });
  onTestFinished(async () => {
    // A request that is under way as the test ends can be continued no more.
    await context.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  });
  const requested: string[] = [];
  const faults: string[] = [];
  await context.route("**/*", async (route) => {
    const asked = route.request().url();
    requested.push(asked);
    if (unanswered.includes(new URL(asked).pathname)) return route.abort();
    if ([url, ...origins].some((one) => new URL(asked).origin === new URL(one).origin)) return route.continue();
    const body = answers[asked];
    return body === undefined ? route.abort() : route.fulfill({ body, contentType: "text/html" });
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  await page.goto(url);
  return { page, context, requested, faults };
};
