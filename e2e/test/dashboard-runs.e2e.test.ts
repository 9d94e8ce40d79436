import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Child } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld, type World } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };

const row = (page: Page, name: string) => page.locator(".run-row").filter({ hasText: name });

/** Sends an event and gives the id of the run that it starts. */
async function start({ api }: World, name: string, data: object = {}): Promise<string> {
  const [eventId = ""] = await api.send({ name: `shop/${name}`, data });
  const [run] = await api.runsOf(eventId);
  return run?.id ?? "";
}

describe("The list of runs", () => {
  test("shows runs as they come and end, also those after its gateway was started again", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs");
      const page = await dashboard.open(`${world.url}/ui/runs`);
      await page.getByRole("heading", { name: "No runs yet" }).waitFor();
      await start(world, "quick", { n: 1 });
      await row(page, "shop-quick").getByText("Completed").waitFor();
      // What is typed stays while rows come in.
      await page.getByLabel("Event name").pressSequentially("shop/");
      const asleep = await start(world, "reminder");
      await row(page, "shop-reminder").getByText("It sleeps in the step").waitFor();
      expect(await page.getByLabel("Event name").inputValue()).toBe("shop/");
      await page.getByLabel("Event name").fill("");
      await page.evaluate("globalThis.wasHere = true");
      await world.gateway.stop();
      await page.getByRole("alert").getByText("The gateway has been away since").waitFor();
      expect(await row(page, "shop-quick").count()).toBe(1);
      await world.restartGateway();
      await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
      const declined = await start(world, "declined");
      await row(page, "shop-declined").getByText("PaymentDeclined: The card was declined").waitFor();
      expect((await world.ended(declined)).status).toBe("FAILED");
      expect(await page.evaluate("globalThis.wasHere"), "without a reload").toBe(true);
      await fetch(`${world.url}/v1/runs/${asleep}/cancel`, { method: "POST" });
      await row(page, "shop-reminder").getByText("Cancelled").first().waitFor();
      await closePage(page);
      await app.close();
    });
  });

  test("keeps its filters in the address, and does with all of the shown what is asked", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs");
      const failed = [await start(world, "declined"), await start(world, "declined")];
      for (const id of failed) await world.ended(id);
      await world.ended(await start(world, "quick"));
      const page = await dashboard.open(`${world.url}/ui/runs`);
      await page.getByRole("checkbox", { name: "Failed" }).click();
      await page.getByLabel("Function").selectOption("shop-declined");
      await expect.poll(() => page.locator(".run-row").count()).toBe(2);
      expect(page.url()).toBe(`${world.url}/ui/runs?status=FAILED&function=shop-declined`);
      await page.reload();
      await expect.poll(() => page.locator(".run-row").count()).toBe(2);
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole("button", { name: "Rerun these" }).click();
      await page.getByText("2 runs fit.").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByRole("button", { name: "Rerun 2 runs" }).click();
      await page.getByText("2 of 2 done").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await expect.poll(() => page.locator(".run-row").count()).toBe(4);
      await page.getByRole("link", { name: "Show all" }).click();
      await world.api.send({ name: "shop/quick", id: "order-7", data: {} });
      await expect.poll(() => page.locator(".run-row").count()).toBe(6);
      await page.getByLabel("Text in the error").fill("INSUFFICIENT funds");
      await page.keyboard.press("Tab");
      await expect.poll(() => page.locator(".run-row").count()).toBe(4);
      await page.getByRole("button", { name: "Rerun these" }).click();
      // Two of the four were run again above; none is, of the reruns.
      await page.getByText("2 runs fit.").waitFor();
      await page.getByText("2 runs that have been rerun already are left out.").waitFor();
      await page.getByRole("button", { name: "Do nothing" }).click();
      await page.getByLabel("Created").selectOption("range");
      await page.getByLabel("From", { exact: true }).fill("2020-02-01T10:30");
      await page.getByLabel("To", { exact: true }).fill("2020-02-01T09:30");
      await page.getByText("The time ends before it begins").waitFor();
      // All of a time is seen, at any width.
      for (const width of [800, 1000, WIDE.width]) {
        await page.setViewportSize({ ...WIDE, width });
        for (const label of ["From", "To"]) {
          const box = await page.getByLabel(label, { exact: true }).boundingBox();
          expect(box?.width).toBeGreaterThan(220);
        }
        expect(await overflow(page)).toBe(0);
      }
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByLabel("To", { exact: true }).fill("2020-02-02T10:30");
      await page.getByText("No run fits").waitFor();
      expect(new URL(page.url()).search).toBe(
        "?error=INSUFFICIENT+funds&time=range&from=2020-02-01T10%3A30%3A00.000Z&to=2020-02-02T10%3A30%3A00.000Z",
      );
      await page.reload();
      expect(await page.getByLabel("To", { exact: true }).inputValue()).toBe("2020-02-02T10:30");
      await page.getByLabel("To", { exact: true }).fill("");
      await expect.poll(() => page.locator(".run-row").count()).toBe(4);
      await page.getByLabel("Created").selectOption("");
      await page.getByLabel("Text in the error").fill("");
      await page.getByLabel("Id or key").fill("order-7");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator(".run-row").count()).toBe(1);
      expect(page.url()).toBe(`${world.url}/ui/runs?key=order-7`);
      await page.getByLabel("Id or key").fill(failed[0] ?? "");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "It failed with" }).waitFor();
      expect(page.url()).toBe(`${world.url}/ui/runs/${failed[0]}`);
      await closePage(page);
      await app.close();
    });
  });

  test("scrolls through ten thousand rows with a few dozen elements, and by arrow keys", async () => {
    const gateway = await startGateway({ args: ["--store", "memory"] });
    const file = fileURLToPath(new URL("../fixtures/dashboard-app.mjs", import.meta.url));
    const app = new Child(file, { name: "app", env: { HOLDFAST_DEV: gateway.url } });
    try {
      await app.message((message) => message.ready === true);
      await app.ask("close");
      const body = JSON.stringify(Array.from({ length: 500 }, (_, n) => ({ name: "shop/quick", data: { n } })));
      for (let sent = 0; sent < 10_000; sent += 500) await fetch(`${gateway.url}/e/dev`, { method: "POST", body });
      const page = await dashboard.open(`${gateway.url}/ui/runs`);
      await page.locator(".run-row").first().waitFor();
      const goDown = async (): Promise<boolean> => {
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
        return page.getByText("10,000 in all").isVisible();
      };
      await expect.poll(goDown).toBe(true);
      expect(await page.locator(".run-row").count()).toBeLessThan(80);
      expect(await overflow(page)).toBe(0);
      await page.evaluate("scrollTo(0, 0)");
      const focused = (): Promise<string> => page.evaluate("document.activeElement.getAttribute('href')");
      await page.locator(".rows > li[aria-posinset='1'] a").focus();
      const first = await focused();
      for (let press = 0; press < 30; press += 1) await page.keyboard.press("ArrowDown");
      expect(await focused()).toMatch(/^\/ui\/runs\//);
      expect(await focused()).not.toBe(first);
      await closePage(page);
    } finally {
      await app.kill();
      await gateway.child.stop();
    }
  });
});

describe("A run", () => {
  test("has a timeline with its retry, its child, its sleep and its blocked time, which names the line", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs", { env: { HOLDFAST_STALL_THRESHOLD: "200ms" } });
      const untilFile = join(dirname(world.journal.path), "open-invoice");
      const id = await start(world, "order", { order: 7, blockMs: 900, coolMs: 50, untilFile });
      // On a busy machine the first reports may say that there is no processor, and not where the code is.
      await world.until("a report that names the line", async () =>
        (await world.api.run(id)).stalls.some(({ location }) => location?.includes("dashboard-app.mjs")),
      );
      world.journal.open("invoice");
      const page = await dashboard.open(`${world.url}/ui/runs/${id}`);
      await page.locator(".summary").getByText("Completed").waitFor();
      const timeline = page.locator(".timeline");
      for (const kind of ["attempt", "failed", "backoff", "wait", "sleep"]) {
        expect([kind, await timeline.locator(`.bar.${kind}`).count()]).not.toEqual([kind, 0]);
      }
      await timeline.locator(".block").first().waitFor({ state: "attached" });
      await page
        .locator(".blocks")
        .getByText(/dashboard-app\.mjs:\d+:\d+/)
        .first()
        .waitFor();
      await page.locator(".step").filter({ hasText: "mail the customer" }).locator("summary").click();
      await page.getByText("Attempt 1 failed").waitFor();
      await page.getByText("421 try later").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.locator(".step").filter({ hasText: "invocation" }).locator("summary").click();
      await page.locator(".step-body").getByRole("link").first().click();
      await page.getByRole("heading", { name: "shop-label" }).waitFor();
      await page.getByRole("link", { name: id }).click();
      await page.getByRole("heading", { name: "shop-order" }).waitFor();
      await closePage(page);
      await app.close();
    });
  });

  test("is run again from a step with another result, cancelled, resumed, compared and taken along", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs");
      const id = await start(world, "quick", { n: 5 });
      await world.ended(id);
      const page = await dashboard.open(`${world.url}/ui/runs/${id}`);
      await page.locator(".step summary").click();
      const inTimeline = page.getByRole("group", { name: "Selected step" });
      expect(await inTimeline.count(), "it was opened in the list").toBe(0);
      await page.locator("#steps").locator("xpath=..").getByRole("button", { name: "Rerun from here" }).click();
      await page.getByRole("heading", { name: "Rerun from “count”" }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".entry.can-select").click();
      await inTimeline.getByText("count").waitFor();
      await inTimeline.getByRole("button", { name: "Rerun from here" }).click();
      await page.getByLabel("The step gives this result").check();
      await page.getByLabel("Result, as JSON").fill("{oops");
      await page.getByRole("button", { name: "Rerun", exact: true }).last().click();
      await page.getByText("This is not JSON.").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await page.getByLabel("Result, as JSON").fill("77");
      await page.getByRole("button", { name: "Rerun", exact: true }).last().click();
      await page.getByText("Forked at “count” from").waitFor();
      await page.locator("section", { hasText: "Output" }).last().getByText("77").waitFor();
      await page.getByRole("link", { name: "compare" }).click();
      await page.getByText("They part at “count”: differs.").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);

      const waiting = await start(world, "approval", { order: 9 });
      await page.goto(`${world.url}/ui/runs/${waiting}`);
      await page.getByText(/It waits in the step manager's answer for the event "shop\/approved"/).waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Cancel the run" }).click();
      await page.locator(".summary").getByText("Cancelled").waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.locator(".summary").getByText("Waiting").waitFor();
      await world.api.send({ name: "shop/approved", data: { order: 9, by: "the boss" } });
      await page.locator(".summary").getByText("Completed").waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export" }).click();
      expect((await download).suggestedFilename()).toBe(`shop-approval-${waiting}.jsonl`);
      await page.getByRole("button", { name: "As test" }).click();
      await page.getByText("new FunctionTest(approval").waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      await closePage(page);
      await app.close();
    });
  });

  test("with very long names, other scripts and emoji stays within every width", async () => {
    await inWorld(mode, async (world) => {
      const app = await world.startAppOf("dashboard-app.mjs");
      const data = { text: "😀 ".repeat(40), rtl: "مرحبا", long: "x".repeat(400) };
      const ids = [await start(world, "long-name", data), await start(world, "wide"), await start(world, "long")];
      for (const id of ids) await world.ended(id);
      for (const viewport of [WIDE, NARROW]) {
        for (const theme of ["light", "dark"] as const) {
          const page = await dashboard.open(`${world.url}/ui/runs`, { viewport, theme });
          await page.locator(".run-row").first().waitFor();
          expect([viewport.width, await overflow(page)]).toEqual([viewport.width, 0]);
          for (const id of ids) {
            await page.goto(`${world.url}/ui/runs/${id}`);
            await page.locator(".summary").getByText("Completed").waitFor();
            expect([id, viewport.width, await overflow(page)]).toEqual([id, viewport.width, 0]);
            expect(await accessibilityProblems(page)).toEqual([]);
          }
          await closePage(page);
        }
      }
      await app.close();
    });
  });
});
