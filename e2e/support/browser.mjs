/**
 * A headless Chromium for tests. What it writes is in one folder, which goes when the browser is closed, and also when
 * this process is killed: a process of its own watches over that.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "./find-chromium.mjs";
import { LIMIT_MS } from "./limits.mjs";

const WATCH = fileURLToPath(new URL("./browser-watch.mjs", import.meta.url));

/** Chromium as root, as in containers, has no sandbox; it loads our own pages alone. */
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"];

/**
 * @typedef {object} TestBrowser
 * @property {import("playwright-core").Browser} browser
 * @property {string} folder
 * @property {() => Promise<void>} close
 */

/** @returns {Promise<TestBrowser>} */
export async function openBrowser() {
  const { path, env } = findChromium();
  const folder = mkdtempSync(join(tmpdir(), "holdfast-browser-"));
  const watch = spawn(process.execPath, [WATCH, folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  watch.unref();
  const before = process.env.TMPDIR;
  // Playwright asks for it as it starts.
  process.env.TMPDIR = folder;
  try {
    const browser = await chromium.launch({
      executablePath: path,
      args: ARGS,
      timeout: LIMIT_MS,
      env: { ...process.env, ...env, TMPDIR: folder, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
    });
    const close = async () => {
      await browser.close();
      watch.ref();
      const gone = new Promise((resolve) => watch.once("exit", resolve));
      watch.stdin.end();
      await gone;
    };
    return { browser, folder, close };
  } catch (error) {
    watch.stdin.end();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}
