import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Child } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, overflow, useDashboard } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();

interface Waiting {
  readonly url: string;
  /** More runs, all of which wait. */
  add(count: number): Promise<void>;
}

/** A gateway whose app has gone, so that its runs wait. */
async function withWaitingRuns(body: (waiting: Waiting) => Promise<void>): Promise<void> {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  const file = fileURLToPath(new URL("../fixtures/dashboard-app.mjs", import.meta.url));
  const app = new Child(file, { name: "app", env: { HOLDFAST_DEV: gateway.url } });
  try {
    await app.message((message) => message.ready === true);
    await app.ask("close");
    await body({
      url: gateway.url,
      add: async (count) => {
        const events = Array.from({ length: count }, (_, n) => ({ name: "shop/quick", data: { n } }));
        const answer = await fetch(`${gateway.url}/e/dev`, { method: "POST", body: JSON.stringify(events) });
        expect(answer.status).toBe(200);
      },
    });
  } finally {
    await app.kill();
    await gateway.child.stop();
  }
}

/** The first row in the window, and how far it is from its top. */
const placeOf = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const row = [...document.querySelectorAll(".rows > li")].find((one) => one.getBoundingClientRect().top >= 0);
    return row === undefined ? "none" : row.dataset.key + " " + Math.round(row.getBoundingClientRect().top);
  })()`);

const focusedRow = (page: Page): Promise<{ readonly key: string | null; readonly at: number }> =>
  page.evaluate(`(() => {
    const row = document.activeElement.closest("li");
    return { key: row?.dataset.key ?? null, at: Number(row?.getAttribute("aria-posinset") ?? 0) };
  })()`);

describe("The list of runs", () => {
  test("is found again where it was left, also when runs have come meanwhile", async () => {
    await withWaitingRuns(async ({ url, add }) => {
      for (let part = 0; part < 4; part += 1) await add(400);
      const page = await dashboard.open(`${url}/ui/runs`);
      const goDown = async (): Promise<boolean> => {
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
        return page.getByText("1,600 in all").isVisible();
      };
      await expect.poll(goDown).toBe(true);
      await page.evaluate("scrollTo(0, 60_000)");
      // Once the rows that belong there are drawn.
      await expect.poll(async () => Number((await placeOf(page)).split(" ")[1])).toBeLessThan(200);
      const place = await placeOf(page);
      const open = `document.querySelector(".rows > li[data-key='${place.split(" ")[0]}'] a").click()`;
      await page.evaluate(open);
      await page.getByRole("heading", { name: "shop-quick" }).waitFor();
      await page.goBack();
      await expect.poll(() => placeOf(page)).toBe(place);
      await page.evaluate(open);
      await page.getByRole("heading", { name: "shop-quick" }).waitFor();
      await add(100);
      await page.goBack();
      await page.getByText("1,700 in all").waitFor();
      await expect.poll(() => placeOf(page)).toBe(place);
      // A way there that is no way back begins at the top.
      await page.getByRole("link", { name: "Functions" }).click();
      await page.getByRole("link", { name: "Runs", exact: true }).click();
      await page.locator(".run-row").first().waitFor();
      expect(await page.evaluate("scrollY")).toBe(0);
      await closePage(page);
    });
  });

  test("keeps the keyboard's focus on its run, however many come in above it", async () => {
    await withWaitingRuns(async ({ url, add }) => {
      await add(20);
      const page = await dashboard.open(`${url}/ui/runs`);
      await page.locator(".rows > li[aria-posinset='2'] a").focus();
      const { key } = await focusedRow(page);
      expect(key).not.toBeNull();
      for (let at = 2; at < 120; at += 20) {
        await add(20);
        await expect.poll(() => focusedRow(page)).toEqual({ key, at: at + 20 });
      }
      expect(await page.locator(".run-row").count()).toBeLessThan(80);
      await page.keyboard.press("ArrowDown");
      await expect.poll(async () => (await focusedRow(page)).at).toBe(123);
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => focusedRow(page)).toEqual({ key, at: 122 });
      expect(await accessibilityProblems(page)).toEqual([]);
      await closePage(page);
    });
  });

  test("does not ask on and on for older runs while the gateway refuses them", async () => {
    await withWaitingRuns(async ({ url }) => {
      let refusals = 0;
      const prepare = async (page: Page): Promise<void> => {
        await page.route("**/v1/runs?*", (route) => {
          const isFirst = !new URL(route.request().url()).searchParams.has("cursor");
          if (isFirst) return route.fulfill({ json: { runs: [], nextCursor: "01J00000000000000000000000" } });
          refusals += 1;
          return route.fulfill({ status: 503, json: { error: "The database is away.", code: "STORE_FAILED" } });
        });
      };
      const page = await dashboard.open(`${url}/ui/runs?eventName=shop/rare`, { prepare });
      await page.getByText("The database is away.").waitFor();
      const before = refusals;
      await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2_500))");
      // Once a second.
      expect(refusals - before).toBeLessThanOrEqual(3);
      await expect.poll(() => refusals - before).toBeGreaterThan(3);
      await closePage(page);
    });
  });

  test("reruns failed runs unless a status is named, and nothing while its address is wrong", async () => {
    await inWorld({ name: "bulk", extensions: true }, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs");
      for (const name of ["declined", "quick", "quick"]) {
        const [eventId = ""] = await world.api.send({ name: `shop/${name}`, data: {} });
        const [run] = await world.api.runsOf(eventId);
        await world.ended(run?.id ?? "");
      }
      const page = await dashboard.open(`${world.url}/ui/runs`);
      const rerun = page.getByRole("button", { name: "Rerun these …" });
      await rerun.click();
      await page.getByText("1 run fits.").waitFor();
      await page.getByText("It takes runs in status Failed only, as the filter names no status").waitFor();
      await page.getByRole("button", { name: "Rerun 1 run" }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole("button", { name: "Do nothing" }).click();
      await page.getByRole("checkbox", { name: "Completed" }).click();
      await rerun.click();
      await page.getByText("2 runs fit.").waitFor();
      await page.getByText("It takes runs in status Completed.").waitFor();
      await page.getByRole("button", { name: "Do nothing" }).click();

      await page.goto(`${world.url}/ui/runs?status=BOGUS&after=garbage&function=shop-quick`);
      const alert = page.getByRole("alert");
      await alert.getByText("status=BOGUS in the address is ignored").waitFor();
      await alert.getByText("after=garbage in the address is ignored").waitFor();
      expect(await rerun.isDisabled()).toBe(true);
      expect(await page.getByRole("button", { name: "Cancel these …" }).isDisabled()).toBe(true);
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await page.getByRole("link", { name: "Show them without it" }).click();
      await expect.poll(() => page.url()).toBe(`${world.url}/ui/runs?function=shop-quick`);
      expect(await alert.count()).toBe(0);
      expect(await rerun.isDisabled()).toBe(false);
      await closePage(page);
      await app.close();
    });
  });
});
