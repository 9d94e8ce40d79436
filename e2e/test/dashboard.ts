/** What the tests of the dashboard share: a browser for a file, and pages of it that are watched for what must not be. */
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { openBrowser, type TestBrowser } from "../support/browser.mjs";
import { LIMIT_MS } from "../support/limits.mjs";

export const WIDE = { width: 1280, height: 860 };
export const NARROW = { width: 390, height: 844 };

export interface PageOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly theme?: "light" | "dark";
  /** What the user has asked the browser for. Default: as little motion as can be. */
  readonly motion?: "reduce" | "no-preference";
  /** Before its address is opened. */
  readonly prepare?: (page: Page) => Promise<void>;
}

export interface Dashboard {
  readonly browser: Browser;
  /** A page with cookies of its own. When it closes, it has asked nothing of another machine and broken no rule. */
  open(url: string, options?: PageOptions): Promise<Page>;
}

/** One browser for the file. */
export function useDashboard(): Dashboard {
  let opened: TestBrowser | undefined;
  beforeAll(async () => {
    opened = await openBrowser();
  });
  afterAll(async () => {
    await opened?.close();
  });
  return {
    get browser() {
      return (opened as TestBrowser).browser;
    },
    open: (url, options = {}) => openPage((opened as TestBrowser).browser, url, options),
  };
}

const problems = new WeakMap<BrowserContext, string[]>();

async function openPage(
  browser: Browser,
  url: string,
  { viewport = WIDE, theme = "light", motion = "reduce", prepare }: PageOptions,
): Promise<Page> {
  const here = { locale: "en-GB", timezoneId: "UTC" };
  const context = await browser.newContext({ ...here, viewport, colorScheme: theme, reducedMotion: motion });
  context.setDefaultTimeout(LIMIT_MS);
  const found: string[] = [];
  problems.set(context, found);
  const { host } = new URL(url);
  context.on("request", (request) => {
    if (new URL(request.url()).host !== host) found.push(`asked ${request.url()}`);
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => found.push(error.stack ?? error.message));
  page.on("console", (message) => {
    // What an answer's status is, the page says itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) found.push(message.text());
  });
  await prepare?.(page);
  await page.goto(url);
  return page;
}

/** Closes it, and everything of its context. */
export async function closePage(page: Page): Promise<void> {
  const context = page.context();
  await context.close();
  expect(problems.get(context), "what the page did wrong").toEqual([]);
}

/** What axe finds, in words. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ["violations"] }),
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help} (${node.target.join(" ")}) ${node.failureSummary ?? ""}`),
  );
}

/** How many pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
