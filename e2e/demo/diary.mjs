/** What the services of the example app were asked for: read as it grows. */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** @typedef {{ service: string, order: string, what: "called" | "done" | "failed", pid: number, at: number }} Line */

const limitMs = 45_000;

/** @param {string} path */
export function openDiary(path) {
  /** @returns {Line[]} */
  const lines = () =>
    existsSync(path)
      ? readFileSync(path, "utf8")
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  return {
    path,
    lines,
    /**
     * The so-many-th such line, as soon as it is there.
     * @param {string} service
     * @param {Line["what"]} what
     * @param {number} times
     * @returns {Promise<Line>}
     */
    seen: async (service, what, times) => {
      const end = Date.now() + limitMs;
      for (;;) {
        const line = lines().filter((each) => each.service === service && each.what === what)[times - 1];
        if (line !== undefined) return line;
        if (Date.now() > end)
          throw new Error(`Timed out after ${limitMs / 1000} s waiting for ${service} to be ${what}.`);
        await sleep(20);
      }
    },
  };
}
