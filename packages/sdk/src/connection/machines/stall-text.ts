/** A stall report as text: for stderr, the log and the wire. */
import { placeOf, type StallFrame, type StallReport } from "../shared/stall.ts";

const MAX_SHOWN = 12;

export function stallHeadline(
  report: Pick<StallReport, "cause" | "waitedMs" | "culprit" | "execution" | "foundBy">,
  stalledMs: number,
): string {
  if (report.cause === "no-cpu") return noCpuHeadline(report.waitedMs, stalledMs);
  const { culprit, execution, foundBy } = report;
  const where = culprit === null ? "" : ` at ${frameText(culprit)}`;
  const who =
    execution === null
      ? "outside of any function"
      : `${foundBy === "stack" ? "" : "probably "}${executionText(execution)}`;
  return `The main thread has been blocked for ${secondsText(stalledMs)}${where}, ${who}.`;
}

function noCpuHeadline(waitedMs: number, stalledMs: number): string {
  const much = `The main thread was given no processor for ${secondsText(waitedMs)} of ${secondsText(stalledMs)}`;
  return `${much}: the machine, or the CPU limit of the container, is taken up by something else. No function is to blame.`;
}

function executionText({ functionSlug, stepId, runId }: NonNullable<StallReport["execution"]>): string {
  return `in function ${functionSlug}${stepId === null ? "" : `, step "${stepId}"`}, run ${runId}`;
}

/** Several lines, for stderr. */
export function stallText(report: StallReport): string {
  const { stack, problem, waiting, leasesGivenUp, suppressed, stalledMs } = report;
  const lines = [`holdfast: ${stallHeadline(report, stalledMs)}`];
  for (const frame of stack.slice(0, MAX_SHOWN)) lines.push(`    at ${frameText(frame)}`);
  if (stack.length > MAX_SHOWN) lines.push(`    ... ${stack.length - MAX_SHOWN} more`);
  if (problem !== null) lines.push(`    No stack is available: ${problem}`);
  if (waiting > 0)
    lines.push(`  ${waiting} other ${waiting === 1 ? "request is" : "requests are"} waiting for the main thread.`);
  lines.push(
    leasesGivenUp
      ? "  Its requests were returned to the gateway, so that other workers can take them (maxStall)."
      : "  The connection stays up: heartbeats and lease extensions continue, no new work is accepted.",
  );
  if (suppressed > 0)
    lines.push(`  ${suppressed} earlier ${suppressed === 1 ? "report was" : "reports were"} suppressed.`);
  return lines.join("\n");
}

export function frameText(frame: StallFrame): string {
  return frame.functionName === "" ? placeOf(frame) : `${frame.functionName} (${placeOf(frame)})`;
}

/** The whole stack as it goes over the wire, cut to `maxChars`. */
export function stackText(stack: readonly StallFrame[], maxChars: number): string {
  return stack
    .map((frame) => `at ${frameText(frame)}`)
    .join("\n")
    .slice(0, maxChars);
}

function secondsText(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** The innermost frame that the author can fix: not Node's own, rather not a dependency's. */
export function culpritOf(stack: readonly StallFrame[]): StallFrame | null {
  const written = stack.filter(({ file }) => file !== "" && !file.startsWith("node:"));
  return written.find(({ file }) => !/[\\/]node_modules[\\/]/.test(file)) ?? written[0] ?? stack[0] ?? null;
}
