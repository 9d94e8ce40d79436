import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Child } from "../support/child.mjs";
import { findChromium, VARIABLE } from "../support/find-chromium.mjs";

test("a Chromium that is named and not there is an error of one sentence, which says how to get one", () => {
  expect(() => findChromium({ [VARIABLE]: "/nowhere/chromium" })).toThrow(
    /^HOLDFAST_CHROMIUM names \/nowhere\/chromium, which is no program: set HOLDFAST_CHROMIUM .* install chromium`\.$/,
  );
});

test("a browser of a test that is killed leaves neither a process nor a file", async () => {
  const child = new Child(fileURLToPath(new URL("../fixtures/open-browser.mjs", import.meta.url)), { name: "browser" });
  const { folder, pid } = await child.message((message) => message.folder !== undefined, 100_000);
  expect(existsSync(folder)).toBe(true);
  await child.kill();
  await waitFor(() => !existsSync(folder), { what: "the browser's folder to go" });
  await waitFor(() => !isAlive(pid), { what: "the browser to end" });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
