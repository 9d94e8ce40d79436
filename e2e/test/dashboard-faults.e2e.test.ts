import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard-faults", extensions: true };

test("a fault is asked for on the page, what it did is seen there and among the frames, and it is removed", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const frames = await dashboard.open(`${world.url}/ui/connections`);
    await frames.getByRole("link", { name: "Frames" }).click();
    await frames.getByText("Live. What went by while no one followed it is not kept.").waitFor();
    const page = await dashboard.open(`${world.url}/ui/faults`);
    await page.getByRole("heading", { name: "Nothing goes wrong" }).waitFor();
    await page.getByLabel("What goes wrong").selectOption("delay");
    await page.getByLabel("Kinds of frames").fill("WORKER_RELPY");
    await page.getByRole("button", { name: "Make it go wrong" }).click();
    await page.getByText('Did you mean "WORKER_REPLY"?').waitFor();
    await page.getByLabel("Kinds of frames").fill("WORKER_REPLY");
    await page.getByLabel("Delay (ms)").fill("20");
    await page.getByRole("button", { name: "Make it go wrong" }).click();
    await page.getByRole("heading", { name: "1 fault" }).waitFor();
    const [eventId = ""] = await world.api.send({ name: "shop/quick", data: {} });
    const [run] = await world.api.runsOf(eventId);
    await world.ended(run?.id ?? "");
    await page.locator(".fault-row").getByText("happened 1 of 1 times").waitFor();
    await page
      .locator(".fault-history")
      .getByText(/WORKER_REPLY .*delayed by 20 ms/)
      .waitFor();
    const changed = frames.locator(".frame", { hasText: "delay: delayed by 20 ms" });
    await changed.waitFor();
    await changed.locator("summary").click();
    await changed.getByRole("link", { name: `Run ${run?.id}` }).waitFor();
    for (const one of [page, frames]) expect(await accessibilityProblems(one)).toEqual([]);
    expect(await frames.locator(".frame", { hasText: "GATEWAY_EXECUTOR_REQUEST" }).count()).toBe(1);
    await frames.setViewportSize(NARROW);
    expect(await overflow(frames)).toBe(0);
    await frames.setViewportSize(WIDE);
    await frames.getByLabel("Only what a fault changed").check();
    await expect.poll(() => frames.locator(".frame").count()).toBe(1);
    await page.getByRole("button", { name: /^Remove fault-/ }).click();
    await page.getByRole("heading", { name: "Nothing goes wrong" }).waitFor();
    await app.close();
    await frames.getByText("This connection is gone.").waitFor();
    for (const one of [page, frames]) await closePage(one);
  });
});

test("a gateway that makes no faults says so, and both pages fit every width in both themes", async () => {
  const gateway = await startGateway({ args: ["--store", "memory", "--no-faults"] });
  try {
    for (const viewport of [WIDE, NARROW]) {
      for (const theme of ["light", "dark"] as const) {
        const page = await dashboard.open(`${gateway.url}/ui/faults`, { viewport, theme });
        await page.getByRole("heading", { name: "No faults here" }).waitFor();
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await page.goto(`${gateway.url}/ui/connections/nothing/frames`);
        await page.getByRole("alert").waitFor();
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await closePage(page);
      }
    }
  } finally {
    await gateway.child.stop();
  }
});
