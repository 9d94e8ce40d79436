/** Many tabs of the dashboard in one browser, which opens only six connections to a gateway. */
import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import { closePage, useDashboard } from "./dashboard.ts";
import { inWorld, type World } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "tabs", extensions: true };
const TABS = 8;

/** Gives the pages of a browser context that have a stream of runs open. */
function streamsIn(page: Page): () => Page[] {
  const open = new Set<Request>();
  const context = page.context();
  context.on("request", (request) => {
    if (new URL(request.url()).pathname === "/v1/runs/stream") open.add(request);
  });
  context.on("requestfinished", (request) => open.delete(request));
  context.on("requestfailed", (request) => open.delete(request));
  return () => [...open].map((one) => one.frame().page()).filter((one) => !one.isClosed());
}

const rows = (page: Page): Promise<number> => page.locator(".run-row").count();

async function startsOne(world: World, tabs: readonly Page[], count: number): Promise<void> {
  await world.api.send({ name: "shop/quick", data: {} });
  for (const tab of tabs) await expect.poll(() => rows(tab)).toBe(count);
}

test("tabs share one stream, and another tab takes it over when the one that has it closes or is frozen", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const first = await dashboard.open(`${world.url}/errors`);
    const holders = streamsIn(first);
    const tabs: Page[] = [];
    for (let n = 0; n < TABS; n += 1) {
      const tab = await first.context().newPage();
      await tab.goto(`${world.url}/ui/runs`);
      await tab.getByRole("status").getByText("Live", { exact: true }).waitFor();
      tabs.push(tab);
    }
    await startsOne(world, tabs, 1);
    expect(holders().map((tab) => tabs.indexOf(tab))).toEqual([0]);
    for (const tab of tabs) expect(await tab.getByRole("alert").count()).toBe(0);

    await tabs.shift()?.close();
    await expect.poll(() => holders().length).toBe(1);
    await startsOne(world, tabs, 2);

    const [frozen = first] = holders();
    const lifecycle = await first.context().newCDPSession(frozen);
    await lifecycle.send("Page.setWebLifecycleState", { state: "frozen" });
    const others = tabs.filter((tab) => tab !== frozen);
    await startsOne(world, others, 3);
    for (const tab of others) expect(await tab.getByRole("alert").count()).toBe(0);
    await lifecycle.send("Page.setWebLifecycleState", { state: "active" });
    await startsOne(world, tabs, 4);
    await expect.poll(() => holders().length).toBe(1);
    await closePage(first);
    await app.close();
  });
});

test("where a browser cannot share it, a tab that is hidden gives up its stream, and catches up when it is seen", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const prepare = async (page: Page): Promise<void> => {
      await page.addInitScript(`
        Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined });
        Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden === true });
      `);
    };
    const page = await dashboard.open(`${world.url}/errors`, { prepare });
    const streams = streamsIn(page);
    const see = (isSeen: boolean): Promise<unknown> =>
      page.evaluate(`globalThis.isHidden = ${!isSeen}; document.dispatchEvent(new Event("visibilitychange"))`);
    await page.goto(`${world.url}/ui/runs`);
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    await startsOne(world, [page], 1);
    expect(streams().length).toBe(1);
    await see(false);
    await expect.poll(() => streams().length).toBe(0);
    await world.api.send({ name: "shop/quick", data: {} });
    await see(true);
    await expect.poll(() => rows(page)).toBe(2);
    expect([streams().length, await page.getByRole("alert").count()]).toEqual([1, 0]);
    await closePage(page);
    await app.close();
  });
});

test("a tab that is hidden as it waits for a frame to show what came does not wait until it is seen again", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const prepare = async (page: Page): Promise<void> => {
      await page.addInitScript(`
        const asked = globalThis.requestAnimationFrame;
        globalThis.requestAnimationFrame = (give) => (globalThis.isHidden === true ? 0 : asked(give));
      `);
    };
    const page = await dashboard.open(`${world.url}/ui/runs`, { prepare });
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    await startsOne(world, [page], 1);
    // Its document does not say so yet.
    await page.evaluate("globalThis.isHidden = true");
    await startsOne(world, [page], 2);
    await closePage(page);
    await app.close();
  });
});
