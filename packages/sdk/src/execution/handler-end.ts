/**
 * What the end of a handler means for its run: returned with or without steps that were never awaited, failed with or
 * without another try.
 */
import { ContinueAs } from "../steps/continue-as.ts";
import type { HandlerEnd } from "../steps/pass-types.ts";
import { warnOfLoss } from "./lossy-results.ts";
import type { PassOptions } from "./pass-options.ts";
import { encodeResult } from "./result-json.ts";
import type { AfterFailure } from "./retry-rules.ts";
import type { StepRecord } from "./step-record.ts";
import type { Thrown } from "./thrown.ts";
import { warnOfUnfinished } from "./unfinished-steps.ts";

type Failed = Extract<HandlerEnd, { type: "failed" }>;

/** The handler threw, or the pass cannot go on. */
export function failedEnd(thrown: Thrown, after: AfterFailure): Failed {
  return { type: "failed", body: JSON.stringify(thrown.error), ...after };
}

/**
 * The handler returned. Steps that were never awaited still belong to the run: it does not end before they do.
 * @throws HoldfastError `STEP_RESULT_INVALID`, `STEP_RESULT_TOO_LARGE`
 */
export function returnedEnd(
  value: unknown,
  all: Iterable<StepRecord>,
  { log, request, mode }: PassOptions,
): HandlerEnd {
  const records = [...all];
  const { functionSlug } = request;
  const continues = ContinueAs.is(value) ? { continues: value.dataText } : {};
  const { text: body } = encodeResult(ContinueAs.is(value) ? null : value, `function "${functionSlug}"`);
  warnOfLoss(log, () => `function "${functionSlug}"`, value);
  const awaits = new Set<string>();
  for (const { identity, promise, progress } of records) {
    if (promise.isAwaited || progress === "done") continue;
    const state = progress === "failed" ? "failed" : "has not finished";
    const message = `Step "${identity.fullId}" of function "${functionSlug}" ${state} but was never awaited. Add \`await\`.`;
    log("warn", message);
    if (progress === "open") awaits.add(identity.hash);
  }
  if (mode.type === "in-place") warnOfUnfinished(records, functionSlug, log);
  return { type: "returned", body, ...continues, ...(awaits.size > 0 ? { awaits } : {}) };
}
