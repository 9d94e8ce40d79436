/** What the connection thread prints is read and logged, so that a full pipe can never block it. */
import type { Readable } from "node:stream";
import type { Log } from "@holdfast/core";

/** How much of one burst of output reaches the log, and how often. */
const MAX_CHARS = 2_000;
const MAX_LINES = 100;

/** Reads a stream of the thread to its end, so that it can never fill up; the beginning goes to the log. */
export function drainStream(stream: Readable, name: string, log: Log): void {
  let lines = 0;
  stream.on("data", (chunk: Buffer | string) => {
    lines += 1;
    if (lines > MAX_LINES) return;
    const text = String(chunk).slice(0, MAX_CHARS).trimEnd();
    if (text !== "") log("warn", `The connection thread wrote to ${name}: ${text}`);
    if (lines === MAX_LINES) log("warn", `Further output of the connection thread on ${name} is suppressed.`);
  });
  stream.on("error", () => {});
}
