/** A folder that is gone in the end, also when this process is killed with -9. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Waits for the end of its standard input, which is the end of this process, and for those who still write. */
const janitor = `
  const { existsSync, rmSync } = require("node:fs");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  process.stdin.resume().on("end", async () => {
    for (let quiet = 0, tries = 0; quiet < 5 && tries < 60; tries++) {
      quiet = existsSync(process.argv[1]) ? 0 : quiet + 1;
      try { rmSync(process.argv[1], { recursive: true, force: true }); } catch {}
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  });
`;

/** @param {string} prefix of its name */
export function temporaryFolder(prefix) {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const child = spawn(process.execPath, ["-e", janitor, path], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: tmpdir(),
  });
  child.unref();
  child.stdin.on("error", () => {});
  /** @type {import("node:net").Socket} */ (child.stdin).unref();
  const remove = async () => {
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    child.kill("SIGKILL");
  };
  return { path, remove };
}
