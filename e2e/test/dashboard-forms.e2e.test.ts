import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const mode = { name: "dashboard", extensions: true };

test("an event is sent from a form that the schema in the app's code makes, which says what does not fit", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("schema-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/events`);
    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("shop/ordered");
    await dialog.getByLabel("Name").blur();
    await dialog.getByLabel(/^customer · who pays/).fill("ada");
    await expect.poll(() => options(dialog.getByLabel("size"))).toEqual(["–", "S", "L"]);
    expect(await dialog.getByLabel(/^count/).inputValue()).toBe("1");
    expect(await accessibilityProblems(page)).toEqual([]);
    const send = dialog.getByRole("button", { name: "Send" });
    await send.click();
    await dialog.getByText("“size” is required.").waitFor();
    await dialog.getByLabel("size").selectOption("L");
    await send.click();
    await dialog.getByText(/^“customer”: .*email/).waitFor();
    await dialog.getByLabel(/^customer/).fill("ada@example.com");
    await dialog.getByLabel(/^count/).fill("0");
    await send.click();
    await dialog.getByText(/^“count”: /).waitFor();
    await dialog.getByLabel(/^count/).fill("2");
    await dialog.getByLabel(/^lines/).fill('[{ "article": 7 }]');
    await send.click();
    await dialog.getByText(/^“lines\.0\.article”: /).waitFor();
    await dialog.getByLabel(/^lines/).fill('[{ "article": "lamp" }]');
    // Nothing of it was sent.
    const before = (await (await fetch(`${world.url}/v1/events`)).json()) as { events: unknown[] };
    expect(before.events).toEqual([]);
    await send.click();
    await page.getByRole("heading", { name: "What it started" }).waitFor();
    await page.locator(".run-row").getByText("Completed").waitFor();
    await page.locator(".run-row").click();
    await page.locator("section", { hasText: "Output" }).last().getByText("lamp").waitFor();
    await closePage(page);
    await app.close();
  });
});

test("a function is started alone from the form of its event, whose schema the client has", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("schema-app.mjs");
    const page = await dashboard.open(`${world.url}/ui/functions/shop-return`, { viewport: NARROW, theme: "dark" });
    await page.getByRole("button", { name: "Start" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("How").selectOption("");
    await dialog.getByLabel("order").fill("x");
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await dialog.getByText(/^“order”: /).waitFor();
    expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
    await dialog.getByRole("button", { name: "As JSON" }).click();
    await dialog.getByLabel("Data, as JSON").fill('{ "order": 7 }');
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await dialog.getByText(/^“order”: .*string/).waitFor();
    await dialog.getByLabel("Data, as JSON").fill('{ "order": "A-17" }');
    await dialog.getByRole("button", { name: "Start", exact: true }).click();
    await page.locator("section", { hasText: "Output" }).last().getByText("A-17").waitFor();
    await closePage(page);
    await app.close();
  });
});

const options = (select: Locator): Promise<string[]> => select.locator("option").allTextContents();
