import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase } from "@holdfast/testing";
import { expect, inject, test } from "vitest";
import { startGateway } from "../support/gateway.mjs";
import { accessibilityProblems, closePage, NARROW, overflow, useDashboard, WIDE } from "./dashboard.ts";

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
    await page.getByRole("status").getByText("Live").waitFor();
    await closePage(page);
    const foreign = await fetch(`${url}/v1/runs`, { headers: { ...JSON_TYPE, origin: "http://localhost:3000" } });
    expect(foreign.status).toBe(403);
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
