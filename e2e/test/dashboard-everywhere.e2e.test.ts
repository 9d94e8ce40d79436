/** What holds on every page of the dashboard while there is something to show. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { callJson } from "../support/graph-shapes.ts";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld, type World } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };
const graph = JSON.parse(readFileSync(new URL("../fixtures/onboarding-graph.json", import.meta.url), "utf8"));

/** Runs, events, a graph and a limit in use; then the addresses of all pages. */
async function fillPages(world: World): Promise<readonly string[]> {
  await callJson(world.url, "PUT", "/v1/graphs/onboarding", { graph });
  await callJson(world.url, "POST", "/v1/graphs/onboarding/publish", {});
  await world.api.send({ name: "shop/newsletter", data: {} });
  const runIds: string[] = [];
  let eventId = "";
  for (const name of ["shop/quick", "shop/declined"]) {
    [eventId = ""] = await world.api.send({ name, data: { n: 5 } });
    const [run] = await world.api.runsOf(eventId);
    await world.ended(run?.id ?? "");
    runIds.push(run?.id ?? "");
  }
  const { workers } = (await (await fetch(`${world.url}/v1/workers`)).json()) as {
    workers: { connectionId: string }[];
  };
  return [
    ...["/", "/ui/runs", `/ui/runs/${runIds[0]}`, `/ui/runs/${runIds[1]}`],
    ...[`/ui/compare?left=${runIds[0]}&right=${runIds[1]}`, "/ui/functions", "/ui/functions/shop-quick"],
    ...["/ui/graphs", "/ui/graphs/onboarding", "/ui/events", `/ui/events/${eventId}`, "/ui/schedules", "/ui/limits"],
    ...["/ui/connections", `/ui/connections/${workers[0]?.connectionId}/frames`, "/ui/faults", "/ui/no-such-page"],
  ];
}

async function openAt(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator("h1").first().waitFor();
  await expect.poll(() => page.getByText(/^Asking the gateway/).count()).toBe(0);
}

test.each([
  ["wide", "light", WIDE],
  ["wide", "dark", WIDE],
  ["narrow", "light", NARROW],
  ["narrow", "dark", NARROW],
] as const)("every page has no accessibility problem and no overflow: %s, %s", async (_, theme, viewport) => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const paths = await fillPages(world);
    const page = await dashboard.open(world.url, { viewport, theme });
    for (const path of paths) {
      await openAt(page, `${world.url}${path}`);
      expect([path, await overflow(page), await accessibilityProblems(page)]).toEqual([path, 0, []]);
    }
    await closePage(page);
    await app.close();
  });
});

test("the first Tab on a page stops at the link to its content, on every page and width", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    for (const viewport of [WIDE, NARROW]) {
      for (const path of ["/ui/runs", "/ui/faults"]) {
        const page = await dashboard.open(`${gateway.url}${path}`, { viewport });
        const current = page.locator(".nav [aria-current]");
        await current.waitFor();
        await expect.poll(() => page.title()).toContain("Holdfast");
        await page.keyboard.press("Tab");
        expect(await page.locator(":focus").textContent()).toBe("Skip to content");
        // Where the navigation scrolls the page's own place in it is seen.
        const box = await current.boundingBox();
        expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= viewport.width).toBe(true);
        await closePage(page);
      }
    }
  } finally {
    await gateway.child.stop();
  }
});

test("everything on every page is reached by Tab, is seen while it has the focus, and nothing holds it", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const paths = await fillPages(world);
    const page = await dashboard.open(world.url);
    for (const path of paths) {
      await openAt(page, `${world.url}${path}`);
      const wanted = (await page.evaluate(MARK_STOPS)) as number;
      expect([path, wanted > 5]).toEqual([path, true]);
      const unseen = new Set<string>();
      // Once round: also what was rendered anew meanwhile has had its turn.
      for (let presses = 0; presses < 2 * wanted + 20; presses += 1) {
        await page.keyboard.press("Tab");
        const problem = (await page.evaluate(LOOK_AT_FOCUS)) as string | null;
        if (problem !== null) unseen.add(problem);
        if (((await page.evaluate(LEFT_OUT)) as string[]).length === 0) break;
      }
      expect([path, await page.evaluate(LEFT_OUT), [...unseen]]).toEqual([path, [], []]);
    }
    await closePage(page);
    await app.close();
  });
});

test("nothing moves on any page where the user wants less motion", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const paths = await fillPages(world);
    // The question finds what moves: without that wish there are transitions.
    const moving = await dashboard.open(`${world.url}/ui/runs`, { motion: "no-preference" });
    await openAt(moving, `${world.url}/ui/runs`);
    expect(await moving.evaluate(WHAT_MOVES)).not.toEqual([]);
    await closePage(moving);
    const page = await dashboard.open(world.url, { motion: "reduce" });
    for (const path of paths) {
      await openAt(page, `${world.url}${path}`);
      expect([path, await page.evaluate(WHAT_MOVES)]).toEqual([path, []]);
    }
    await closePage(page);
    await app.close();
  });
});

/** Marks what Tab stops at, and says how many there are; of radio buttons of one name it stops at one. */
const MARK_STOPS = `(() => {
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: false });
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  const stops = all.filter((element) => seen(element) && !element.disabled && element.tabIndex >= 0);
  const names = new Set();
  const each = stops.filter((element) => {
    if (element.type !== "radio") return true;
    const isFirst = !names.has(element.name);
    names.add(element.name);
    return isFirst;
  });
  for (const element of each) element.dataset.stop = "open";
  return each.length;
})()`;

/** Marks what has the focus; what is wrong with it, in words. */
const LOOK_AT_FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  if (element.dataset.stop) element.dataset.stop = "reached";
  if (element.type === "radio")
    for (const one of document.querySelectorAll("input[type=radio]"))
      if (one.name === element.name && one.dataset.stop) one.dataset.stop = "reached";
  const name = element.outerHTML.slice(0, 120);
  const around = [element, element.parentElement, element.nextElementSibling, element.closest("label")];
  const isOutlined = around.some((one) => one && getComputedStyle(one).outlineStyle !== "none");
  if (!isOutlined) return "no outline: " + name;
  const { bottom, top, right, left } = (element.closest("label") ?? element).getBoundingClientRect();
  return bottom <= 0 || top >= innerHeight || right <= 0 || left >= innerWidth ? "out of sight: " + name : null;
})()`;

/** Elements that are still there and have not had the focus. */
const LEFT_OUT = `[...document.querySelectorAll("[data-stop=open]")].map((element) => element.outerHTML.slice(0, 120))`;

/** What is animated, or would be when it changes. */
const WHAT_MOVES = `(() => {
  const isLong = (text) => text.split(",").some((one) => parseFloat(one) > 0.01);
  const moves = (style) =>
    (style.animationName !== "none" && isLong(style.animationDuration)) ||
    isLong(style.transitionDuration) ||
    style.scrollBehavior === "smooth";
  const found = [];
  for (const element of document.querySelectorAll("*"))
    for (const part of [null, "::before", "::after"])
      if (moves(getComputedStyle(element, part))) found.push(element.outerHTML.slice(0, 100));
  return found;
})()`;
