import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase } from "@holdfast/testing";
import type { Page } from "playwright-core";
import { expect, inject, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";
import { inWorld } from "./world.ts";

const dashboard = useDashboard();
const KEY = "signkey-test-00112233445566778899aabbccddeeff";
const JSON_TYPE = { "content-type": "application/json" };

/** A gateway with a key in a file, as a user would have it, and its database; both gone afterwards. */
async function withGateway(args: readonly string[], body: (url: string) => Promise<void>): Promise<void> {
  const database = await createDatabase(inject("postgresUrl"));
  const { child, url } = await startGateway({ databaseUrl: database.url, args });
  try {
    await body(url);
  } finally {
    await child.stop();
    await database.drop();
  }
}

test("the signing key signs in, once; signing out closes the page", async () => {
  await withKeys(async (url) => {
    const page = await dashboard.open(`${url}/ui/nowhere`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("Signing key").fill("00".repeat(16));
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("not a signing key").waitFor();
    await page.getByLabel("Signing key").fill(KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual([]);
    await closePage(page);
  });
});

test("on any width, in both themes, the shell is usable by everyone and nothing sticks out", async () => {
  await withKeys(async (url) => {
    for (const viewport of [WIDE, NARROW]) {
      for (const theme of ["light", "dark"] as const) {
        const page = await dashboard.open(url, { viewport, theme });
        await page.getByRole("heading", { name: "Sign in" }).waitFor();
        expect(await accessibilityProblems(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
        await page.getByLabel("Signing key").fill(KEY);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { name: "Overview" }).waitFor();
        expect(await accessibilityProblems(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
        await closePage(page);
      }
    }
  });
});

test("without keys the page opens by itself, also from the link, which leaves the address", async () => {
  await withGateway([], async (url) => {
    const page = await dashboard.open(`${url}/#link=${"a".repeat(32)}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toBe(`${url}/`);
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    await closePage(page);
    const foreign = await fetch(`${url}/v1/runs`, { headers: { ...JSON_TYPE, origin: "http://localhost:3000" } });
    expect(foreign.status).toBe(403);
  });
});

const WELL = "All is well: nothing waits that should not.";

/** Says of the gateway what is wrong, on a page of any width, so that everyone can read it. */
async function says(page: Page, text: string): Promise<void> {
  await page.getByRole("alert").getByText(text).first().waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
}

test("a gateway that does not answer, or is gone, is said at every width, and nothing is well meanwhile", async () => {
  const { child, url } = await startGateway({ args: ["--store", "memory"] });
  try {
    const wide = await dashboard.open(url);
    const narrow = await dashboard.open(`${url}/ui/limits`, { viewport: NARROW });
    await wide.getByText(WELL).waitFor();
    await narrow.getByRole("heading", { name: "Limits", exact: true }).waitFor();

    child.signal("SIGSTOP");
    for (const page of [wide, narrow]) await says(page, "The gateway has not answered since");
    expect(await wide.getByText(WELL).count()).toBe(0);
    await wide.getByRole("heading", { name: /^As of \d/ }).waitFor();
    await wide.getByRole("heading", { name: /^Database, as of \d/ }).waitFor();
    await wide.locator("dd", { hasText: "not known" }).waitFor();

    child.signal("SIGCONT");
    await wide.getByText(WELL).waitFor();
    await wide.getByRole("heading", { name: "Now" }).waitFor();
    for (const page of [wide, narrow]) await expect.poll(() => page.getByRole("alert").count()).toBe(0);

    await child.kill();
    for (const page of [wide, narrow]) await says(page, "The gateway has been away since");
    await wide.locator(".notice.bad").getByText("What follows is as it was at").waitFor();
    expect(await wide.getByText(WELL).count()).toBe(0);
    await closePage(wide);
    await closePage(narrow);
  } finally {
    await child.stop();
  }
});

test("a database that is away is said on every page until it is back", async () => {
  await inWorld({ name: "database", extensions: true, ownPostgres: true }, async (world) => {
    const { url, postgres } = world;
    const app = await world.startAppOf("dashboard-app.mjs");
    const [eventId = ""] = await world.api.send({ name: "shop/quick", data: {} });
    const [run] = await world.api.runsOf(eventId);
    await world.ended(run?.id ?? "");
    const page = await dashboard.open(url);
    const other = await dashboard.open(`${url}/ui/schedules`, { viewport: NARROW });
    await page.getByText(WELL).waitFor();
    await postgres.kill();
    for (const one of [page, other]) await says(one, "The gateway has not been ready for work since");
    await expect.poll(() => page.getByText(WELL).count()).toBe(0);
    await postgres.restart();
    await page.getByText(WELL).waitFor();
    for (const one of [page, other]) await expect.poll(() => one.getByRole("alert").count()).toBe(0);
    await closePage(page);
    await closePage(other);
    await app.close();
  });
});

test("an app that has gone is named, with the functions whose runs wait for it", async () => {
  await inWorld({ name: "no worker", extensions: true }, async (world) => {
    const app = await world.startAppOf("dashboard-app.mjs");
    const page = await dashboard.open(world.url);
    await page.getByText(WELL).waitFor();
    await world.api.send({ name: "shop/count-till", data: { shop: "north", ms: 600_000 } });
    await page.locator(".run-row").filter({ hasText: "shop-count-till" }).waitFor();
    await app.kill();
    const alert = page
      .getByRole("listitem")
      .filter({ hasText: "The app shop has no connected worker: 1 run of shop-count-till" });
    await alert.waitFor();
    expect(await page.getByText(WELL).count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await alert.getByRole("link", { name: "Show" }).click();
    await expect.poll(() => page.locator(".run-row").count()).toBe(1);
    expect(page.url()).toBe(`${world.url}/ui/runs?status=PENDING,RUNNING,WAITING&function=shop-count-till`);
    await page.goBack();
    await alert.waitFor();
    const [run] = await world.api.runs();
    await closePage(page);
    await fetch(`${world.url}/v1/runs/${run?.id}/cancel`, { method: "POST" });
  });
});

async function withKeys(body: (url: string) => Promise<void>): Promise<void> {
  const file = await keysFile();
  try {
    await withGateway(["--keys", file.path], body);
  } finally {
    await file.remove();
  }
}

async function keysFile(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-keys-"));
  const path = join(folder, "keys.json");
  const keys = [
    { name: "main", kind: "signing", key: KEY },
    { name: "events", kind: "event", key: "the-event-key" },
  ];
  await writeFile(path, JSON.stringify(keys), { mode: 0o600 });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
