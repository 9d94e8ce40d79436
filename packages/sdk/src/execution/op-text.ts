import type { PlainError } from "@holdfast/core";
import type { OpText } from "../steps/pass-machine.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import type { StepCall } from "../steps/step-tools.ts";
import type { ResultJson } from "./result-json.ts";

/** When a body ran. */
export interface BodyTiming {
  readonly startedMs: number;
  readonly durationMs: number;
}

export interface OpExtras {
  readonly timing: BodyTiming;
  /** Said to gateways that know our extensions. */
  readonly attempt?: number;
  readonly retryAfter?: string;
}

/** What a found step is to the gateway, as JSON: ops are put together as text, so that no result is encoded twice. */
export class OpWriter {
  readonly #identity: StepIdentity;
  readonly #call: StepCall;
  readonly #args: readonly unknown[] | undefined;

  constructor(identity: StepIdentity, call: StepCall, args: readonly unknown[] | undefined) {
    this.#identity = identity;
    this.#call = call;
    this.#args = args;
  }

  finished(result: ResultJson, extras: OpExtras): OpText {
    const mark = result.isUndefined && extras.attempt !== undefined ? ',"undefinedResult":true' : "";
    return this.#text("StepRun", `"data":${result.text}${tail(extras)}${mark}`);
  }

  failed(error: PlainError, final: boolean, extras: OpExtras): OpText {
    const { name, message } = error;
    const data = final ? { __serialized: true, name, message, stack: "" } : null;
    const body = `"error":${JSON.stringify(error)},"data":${JSON.stringify(data)}${tail(extras)}`;
    return this.#text(final ? "StepFailed" : "StepError", body);
  }

  /** Not run: what the gateway is to do about it. */
  reported(): OpText {
    return this.#text(this.#call.body === undefined ? "Sleep" : "StepPlanned", '"data":null');
  }

  #text(op: string, rest: string): OpText {
    const { hash, id, index, fullId } = this.#identity;
    const { opName, displayName, opts } = this.#call;
    const head = JSON.stringify({
      id: hash,
      op,
      name: opName ?? fullId,
      displayName: displayName ?? fullId,
      opts: this.#args === undefined ? (opts ?? {}) : { ...opts, input: this.#args },
      userland: index === 0 ? { id } : { id, index },
    });
    const text = `${head.slice(0, -1)},${rest}}`;
    return { hash, text, bytes: Buffer.byteLength(text) };
  }
}

function tail({ timing, attempt, retryAfter }: OpExtras): string {
  const nanos = `{"a":${timing.startedMs * 1e6},"b":${Math.round(timing.durationMs * 1e6)}}`;
  const tried = attempt === undefined ? "" : `,"attempt":${attempt}`;
  const again = attempt === undefined || retryAfter === undefined ? "" : `,"retryAfter":${JSON.stringify(retryAfter)}`;
  return `,"timing":${nanos}${tried}${again}`;
}
