/** Reads the body of a reply into a `PassReport`; what cannot be understood fails the run with a code. */
import { HoldfastError, messageOf, type PlainError, plainError } from "@holdfast/core";
import { normalizeError, parseOps, type SdkResponse, WIRE_LIMITS } from "@holdfast/protocol";
import { JsonText } from "../json/json-text.ts";
import { parseRetryAfterMs } from "../parse-due.ts";
import type { PassReport } from "./input.ts";

const utf8 = new TextDecoder();

/** What a reply has of a pass. */
type Reply = Pick<SdkResponse, "status" | "body" | "noRetry" | "retryAfter" | "requestVersion">;

/** Reads JSON, or throws. */
type Parse = (bytes: Uint8Array, what: string) => unknown;

/** Reads a reply. `no_retry` is looked at before the status: with DONE it means failed permanently. Never throws. */
export function readReport(response: Reply, nowMs: number, parse: Parse): PassReport {
  const { status, body, noRetry } = response;
  try {
    const problem = status === "NOT_COMPLETED" ? null : sizeProblem(body.byteLength);
    if (problem !== null) throw new HoldfastError("STEP_RESULT_TOO_LARGE", problem);
    const value = body.byteLength === 0 ? null : parse(body, "The reply's body");
    const retryAfterMs = parseRetryAfterMs(response.retryAfter, nowMs);
    switch (status) {
      case "DONE":
        if (noRetry) return { status: "FAILED", error: normalizeError(value) };
        return { status: "DONE", outputText: outputText(body, value) };
      case "ERROR":
        if (noRetry) return { status: "FAILED", error: normalizeError(value) };
        return { status: "ERROR", error: normalizeError(value), retryAfterMs };
      case "NOT_COMPLETED":
        return {
          status: "OPS",
          ops: parseOps(value, "The reply's body"),
          requestVersion: response.requestVersion === 1 ? 1 : 2,
          noRetry,
          retryAfterMs,
        };
    }
  } catch (error) {
    return { status: "INVALID", error: invalidError(error) };
  }
}

/** A large one was decoded to be looked through, and is not decoded again. */
function outputText(body: Uint8Array, value: unknown): string {
  if (value instanceof JsonText) return value.text;
  return body.byteLength === 0 ? "null" : utf8.decode(body);
}

/** Why a value of a handler, or of `what`, cannot be taken, as JSON; null when it can. */
export function outputProblem(text: string, what = "The function"): string | null {
  if (3 * text.length <= WIRE_LIMITS.maxOutputBytes) return null;
  return sizeProblem(new TextEncoder().encode(text).byteLength, what);
}

function sizeProblem(bytes: number, what = "The function"): string | null {
  const limit = WIRE_LIMITS.maxOutputBytes;
  if (bytes <= limit) return null;
  return `${what} returned ${bytes} bytes; the limit is ${limit}. Store the result elsewhere and return a reference.`;
}

function invalidError(error: unknown): PlainError {
  const code = HoldfastError.is(error) && error.code === "STEP_RESULT_TOO_LARGE" ? error.code : "OP_INVALID";
  return plainError(code, messageOf(error));
}
