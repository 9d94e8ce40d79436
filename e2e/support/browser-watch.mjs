/** Outlives the process that opened a browser by a moment, and removes the browser's folder. Its input ends with that. */
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [folder] = process.argv.slice(2);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
for await (const _ of process.stdin);
if (folder?.includes("holdfast-browser-")) {
  // A browser whose pipe has ended writes for a moment more.
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      await sleep(250);
      rmSync(folder, { recursive: true, force: true });
      break;
    } catch {
      await sleep(250);
    }
  }
}
