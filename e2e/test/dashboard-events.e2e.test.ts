import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
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
    await page.locator(".event-row").getByText("started no run").waitFor();
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
        await north.getByText("held by 2 runs").click();
        expect(await north.locator("details[open] a").count()).toBe(2);
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await page.goto(`${world.url}/ui/schedules`);
        await page.getByText("has not run yet").nth(1).waitFor();
        await page.locator(".schedule-row").filter({ hasText: "onboarding" }).getByText("0 6 1 1 *").waitFor();
        await page.getByRole("link", { name: "shop-close-books" }).waitFor();
        expect([await overflow(page), await accessibilityProblems(page)]).toEqual([0, []]);
        await closePage(page);
      }
    }
    const page = await dashboard.open(`${world.url}/ui/limits`);
    await page.locator(".limit").getByText("held by 2 runs").click();
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

const SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** An id of that time, as events have it. */
const idAt = (atMs: number, last: string): string =>
  Array.from({ length: 10 }, (_, at) => SIGNS[Math.floor(atMs / 32 ** (9 - at)) % 32]).join("") +
  last.padStart(16, "0");

/** Answers that a test gives in the gateway's place, each when it has said so. */
function heldAnswers(): { readonly release: () => void; readonly released: Promise<void> } {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { release, released };
}

test("events of a rare name are looked for until the window is full, saying how far back, and none is hidden", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const newMs = Date.UTC(2026, 10, 28, 12);
    const hour = 3_600_000;
    const cursor = [1, 2, 3].map((hours) => idAt(newMs - hours * hour, "C"));
    const listed = (id: string) => ({ id, name: "shop/ordered", receivedMs: newMs, runIds: [], runCount: 0 });
    const held = heldAnswers();
    const pages: Record<string, { readonly ids: readonly string[]; readonly next: string | undefined }> = {
      "": { ids: [idAt(newMs, "E")], next: cursor[0] },
      [cursor[0] ?? ""]: { ids: [], next: cursor[1] },
      [cursor[1] ?? ""]: { ids: [], next: cursor[2] },
      [cursor[2] ?? ""]: { ids: [idAt(newMs - 4 * hour, "F")], next: undefined },
    };
    const prepare = async (page: Page): Promise<void> => {
      await page.route("**/v1/events?*", async (route) => {
        const asked = new URL(route.request().url()).searchParams;
        const at = asked.get("cursor") ?? "";
        if (at === cursor[2]) await held.released;
        const { ids = [], next } = pages[at] ?? {};
        await route.fulfill({ json: { events: ids.map(listed), nextCursor: next ?? null } });
      });
    };
    const page = await dashboard.open(`${gateway.url}/ui/events?name=shop/ordered`, { prepare });
    const end = page.locator(".list-end");
    await end.getByText("1 read; looking through older events, back to 28 Nov 2026, 09:00:00.000 so far").waitFor();
    // The newest page, read anew meanwhile, does not let it begin from the front.
    const isHead = (url: string): boolean => url.includes("name=") && !url.includes("cursor=");
    for (let reads = 0; reads < 2; reads += 1) await page.waitForResponse((response) => isHead(response.url()));
    await end.getByText("back to 28 Nov 2026, 09:00:00.000 so far").waitFor();
    held.release();
    await end.getByText("2 in all").waitFor();
    expect(await page.locator(".event-row").count()).toBe(2);
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});

test("an event's data begins with that of the newest one far back, and what was typed meanwhile stays", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const [id = ""] = await gatewayApi(gateway.url).send({ name: "shop/rare", data: { n: 5 } });
    const held = heldAnswers();
    const prepare = async (page: Page): Promise<void> => {
      await page.route("**/v1/events?limit=1&name=*", async (route) => {
        const isFirst = !route.request().url().includes("cursor=");
        if (!isFirst) await held.released;
        const events = isFirst ? [] : [{ id, name: "shop/rare", receivedMs: 0, runIds: [], runCount: 0 }];
        await route.fulfill({ json: { events, nextCursor: isFirst ? id : null } });
      });
    };
    const page = await dashboard.open(`${gateway.url}/ui/events?name=shop/rare`, { prepare });
    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Looking for the newest event of this name").waitFor();
    const data = dialog.getByLabel("Data, as JSON");
    await data.fill('{ "n": 41 }');
    held.release();
    await dialog.getByRole("button", { name: "Replace by the data that came last" }).waitFor();
    expect(await data.inputValue()).toBe('{ "n": 41 }');
    await dialog.getByRole("button", { name: "Replace by the data that came last" }).click();
    await expect.poll(async () => JSON.parse(await data.inputValue())).toEqual({ n: 5 });
    expect(await accessibilityProblems(page)).toEqual([]);
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});

test("an event that answers a wait is said to have started no run; a mistyped name finds the one that was meant", async () => {
  await inWorld(mode, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    await world.api.send({ name: "shop/approval", data: { order: 7 } });
    const page = await dashboard.open(`${world.url}/ui/runs`);
    await page.locator(".run-row").getByText("Waiting").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Events" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("shop/quik");
    await dialog.getByLabel("Name").blur();
    await dialog.getByText("Did you mean").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByRole("button", { name: "shop/quick" }).click();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("shop/quick");
    await expect.poll(() => dialog.getByText("Did you mean").count()).toBe(0);
    await dialog.getByLabel("Name").fill("shop/approved");
    await dialog.getByLabel("Data, as JSON").fill('{ "order": 7 }');
    await dialog.getByRole("button", { name: "Send", exact: true }).click();
    await dialog.getByText("and started no run. If a run was waiting for it, that run has gone on.").waitFor();
    await dialog.getByRole("status").getByRole("link").click();
    await page.getByText("such runs are not listed here", { exact: false }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Events" }).click();
    await page.locator(".event-row", { hasText: "shop/approved" }).getByText("started no run").waitFor();
    await closePage(page);
    await app.close();
  });
});

test("of a long text a part is shown, with how much more there is; what stands after it is there", async () => {
  const gateway = await startGateway({ args: ["--store", "memory"] });
  try {
    const text = "x".repeat(1_000_000);
    const [id] = await gatewayApi(gateway.url).send({ name: "other/large", data: { text, list: ["last"] } });
    const page = await dashboard.open(`${gateway.url}/ui/events/${id}`);
    const json = page.getByRole("figure", { name: "payload" });
    await json.getByText('"list"').waitFor();
    await json.getByText('"last"').waitFor();
    expect((await json.textContent())?.length).toBeLessThan(3_000);
    expect(await accessibilityProblems(page)).toEqual([]);
    await json.getByRole("button", { name: "… 999,000 more characters" }).click();
    await json.getByRole("button", { name: "… 899,000 more characters" }).waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await json.getByRole("button", { name: "Copy" }).click();
    await json.getByText("Copied").waitFor();
    const copied = JSON.parse(await page.evaluate<string>("navigator.clipboard.readText()"));
    expect(copied).toMatchObject({ name: "other/large", data: { text, list: ["last"] } });
    await json.getByRole("button", { name: "Show less" }).click();
    await json.getByRole("button", { name: "… 999,000 more characters" }).waitFor();
    await closePage(page);
  } finally {
    await gateway.child.stop();
  }
});
