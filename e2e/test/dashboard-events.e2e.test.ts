import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { gatewayApi } from "../support/api.mjs";
import { startGateway } from "../support/gateway.mjs";
import { callJson } from "../support/graph-shapes.ts";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };
const graph = JSON.parse(readFileSync(new URL("../fixtures/onboarding-graph.json", import.meta.url), "utf8"));

test("events are listed as they come, found by name, and sent with the data that came last", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/events`);
    await page.getByRole("heading", { name: "No events yet" }).waitFor();
    await world.api.send({ name: "shop/quick", data: { n: 5, note: "مرحبا 😀" } });
    await page.locator(".event-row").getByText("1 run", { exact: true }).waitFor();
    await world.api.send({ name: "other/unheard", data: {} });
    await page.locator(".event-row").getByText("started nothing").waitFor();
    await page.getByLabel("Name").fill("shop/*");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".event-row").count()).toBe(1);
    expect(page.url()).toBe(`${world.url}/ui/events?name=shop%2F*`);

    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("shop/quick");
    await dialog.getByLabel("Name").blur();
    await expect.poll(() => dialog.getByLabel("Data, as JSON").inputValue()).toContain("مرحبا");
    await dialog.getByRole("button", { name: "As fields" }).click();
    await dialog.getByLabel("n", { exact: true }).fill("x");
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("“n” must be a number.").waitFor();
    await dialog.getByLabel("n", { exact: true }).fill("41");
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Send" }).click();
    await page.getByRole("heading", { name: "What it started" }).waitFor();
    await page.locator(".run-row").getByText("Completed").waitFor();
    await page.locator(".json").getByText(/^41\b/).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator(".run-row").click();
    await page.locator("section", { hasText: "Output" }).last().getByText(/^41\b/).waitFor();
    await closePage(page);
    await app.close();
  });
});

test("what turns the direction of text is made visible where a name has it", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const name = "other/invoice-\u202egpj.exe";
    const [id] = await gatewayApi(gateway.url).send({ name, data: { "\u2066": "a\u202eb" } });
    const page = await dashboard.open(`${gateway.url}/ui/events`);
    await page.locator(".event-row").getByText("other/invoice-\ufffdgpj.exe").click();
    await page.getByText("It started no run.", { exact: false }).waitFor();
    await page.getByRole("heading", { name: "other/invoice-\ufffdgpj.exe" }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/ui/events/${id}`);
    expect(await page.content()).not.toMatch(/[\u202e\u2066]/);
    // What is asked for is not what is shown.
    await page.locator(".crumbs").getByRole("link", { name: "other/invoice" }).click();
    await expect.poll(() => page.locator(".event-row").count()).toBe(1);
    expect(await page.getByLabel("Name").inputValue()).toBe(name);
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});

test("limits say who has their places and who waits, schedules when they come next and came last", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    await callJson(world.url, "PUT", "/v1/graphs/onboarding", { graph });
    await callJson(world.url, "POST", "/v1/graphs/onboarding/publish", {});
    const held = { shop: "north", ms: 3_600_000 };
    for (let n = 0; n < 5; n += 1) await world.api.send({ name: "shop/count-till", data: held });
    await world.api.send({ name: "shop/count-till", data: { ...held, shop: "south" } });
    await world.api.send({ name: "shop/newsletter", data: {} });
    await world.api.send({ name: "shop/newsletter", data: {} });
    for (const viewport of [WIDE, NARROW]) {
      for (const theme of ["light", "dark"] as const) {
        const page = await dashboard.open(`${world.url}/ui/limits`, { viewport, theme });
        const till = page.locator(".limit").filter({ hasText: "shop-count-till" });
        const north = till.locator(".load").filter({ hasText: "north" });
        await north.getByText("2 of 2 · 3 waiting").waitFor();
        await till.locator(".load").filter({ hasText: "south" }).getByText("1 of 2").waitFor();
        await page.locator(".limit").filter({ hasText: "shop-newsletter" }).getByText("1 of 1 · 1 waiting").waitFor();
        await north.getByText("held by 2 steps").click();
        expect(await north.locator("details[open] a").count()).toBe(2);
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await page.goto(`${world.url}/ui/schedules`);
        await page.getByText("has not come yet").nth(1).waitFor();
        await page.locator(".schedule-row").filter({ hasText: "onboarding" }).getByText("0 6 1 1 *").waitFor();
        await page.getByRole("link", { name: "shop-close-books" }).waitFor();
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await closePage(page);
      }
    }
    const page = await dashboard.open(`${world.url}/ui/limits`);
    await page.locator(".limit").getByText("held by 2 steps").click();
    await page.locator(".runs-of[open] a").first().click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.locator(".summary").getByText("Cancelled").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Limits" }).click();
    await page.getByText("2 of 2 · 2 waiting").waitFor();
    await closePage(page);
    const { runs } = (await callJson(world.url, "GET", "/v1/runs?limit=100")) as { runs: { id: string }[] };
    for (const { id } of runs) await callJson(world.url, "POST", `/v1/runs/${id}/cancel`);
    await app.kill();
  });
});
