/** What the benchmark runs as bodies of isolated steps: nothing, to measure the way there and back, or code that computes. */
import { isolated } from "holdfast/isolate";

export const nothing = isolated(import.meta.url, "nothing", () => 1);

export const compute = isolated(import.meta.url, "compute", (/** @type {number} */ ms) => {
  for (const end = performance.now() + ms; performance.now() < end; );
});
