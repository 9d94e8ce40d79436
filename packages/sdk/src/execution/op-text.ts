/** Writes ops: what a pass tells a gateway of one step. */
import type { PlainError } from "@holdfast/core";
import type { OpText } from "../steps/pass-types.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import { STEP_KINDS } from "../steps/step-kinds.ts";
import { LONG_CHARS, type ResultJson } from "./result-json.ts";

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
  readonly maxAttempts?: number;
}

/** What an op says of its step. */
export interface OpSubject {
  readonly identity: StepIdentity;
  readonly call: StepCall;
  readonly args: readonly unknown[] | undefined;
  /** Set for gateways that know our extensions. */
  readonly ordinal: number | undefined;
}

/** What a found step is to the gateway, as JSON: ops are put together as text, so that no result is encoded twice. */
export class OpWriter {
  readonly #subject: OpSubject;

  constructor(subject: OpSubject) {
    this.#subject = subject;
  }

  finished(result: ResultJson, extras: OpExtras): OpText {
    const mark = result.isUndefined && extras.attempt !== undefined ? ',"undefinedResult":true' : "";
    const after = `${tail(extras)}${mark}`;
    if (result.text.length < LONG_CHARS) return this.#text("StepRun", `"data":${result.text}${after}`);
    // Long results are not made part of a longer text, which would be a copy of them.
    return around(this.#text("StepRun", `"data":${after}`), after.length + 1, result);
  }

  failed(error: PlainError, final: boolean, extras: OpExtras): OpText {
    const { name, message } = error;
    const data = final ? { __serialized: true, name, message, stack: "" } : null;
    const body = `"error":${JSON.stringify(error)},"data":${JSON.stringify(data)}${tail(extras)}`;
    return this.#text(final ? "StepFailed" : "StepError", body);
  }

  /** Its body is about to run. */
  begun(): OpText {
    return this.#text("StepPlanned", '"data":null');
  }

  /** Not run: what the gateway is to do about it. */
  reported(races = false): OpText {
    return this.#text(
      STEP_KINDS[this.#subject.call.kind].op,
      '"data":null',
      races ? { parallelMode: "race" } : undefined,
    );
  }

  #text(op: string, rest: string, more?: object): OpText {
    const { identity, ordinal } = this.#subject;
    const { hash, fullId } = identity;
    const head = this.#isPlain(op)
      ? (plainHeads.get(fullId) ?? keepHead(fullId, this.#head(op, more)))
      : this.#head(op, more);
    const text = `${head}${ordinal === undefined ? "" : `,"ordinal":${ordinal}`},${rest}}`;
    return { hash, text, bytes: Buffer.byteLength(text) };
  }

  #isPlain(op: string): boolean {
    const { identity, call, args } = this.#subject;
    const isNamed = call.opName !== undefined || call.displayName !== undefined;
    const hasOpts = call.opts !== undefined || args !== undefined;
    return op === "StepRun" && call.kind === "run" && identity.index === 0 && !isNamed && !hasOpts;
  }

  /** All up to what this attempt alone has. */
  #head(op: string, more?: object): string {
    const { identity, call, args } = this.#subject;
    const { hash, id, index, fullId } = identity;
    const { kind, opName, displayName = fullId, opts } = call;
    const quoted = JSON.stringify(fullId);
    const name = opName === undefined ? quoted : JSON.stringify(opName);
    const label = displayName === fullId ? quoted : JSON.stringify(displayName);
    const userland = index === 0 ? `{"id":${quoted}}` : `{"id":${JSON.stringify(id)},"index":${index}}`;
    return (
      `{"id":${JSON.stringify(hash)},"op":"${op}",${kind === "invoke" ? "" : `"name":${name},`}"displayName":${label},` +
      `"opts":${optsText(opts, args, more)},"userland":${userland}`
    );
  }
}

/** How ops of results begin where all of that follows from the step's id: ids repeat from run to run. */
const plainHeads = new Map<string, string>();
const MAX_HEADS = 5_000;

function keepHead(fullId: string, head: string): string {
  if (plainHeads.size >= MAX_HEADS) plainHeads.clear();
  plainHeads.set(fullId, head);
  return head;
}

/** `op` with `data` so many characters before its end. */
function around({ hash, text, bytes }: OpText, fromEnd: number, data: ResultJson): OpText {
  const { same, isPlain } = data;
  const parts = isPlain && same !== undefined ? ['"', same, '"'] : [data.text];
  const [before, after] = [text.slice(0, -fromEnd), text.slice(-fromEnd)];
  return {
    hash,
    text: `${before}${data.text}${after}`,
    bytes: parts.reduce((sum, part) => sum + Buffer.byteLength(part), bytes),
    parts: [before, ...parts, after],
  };
}

/**
 * Results of bodies, with the place of the first, which others follow. Those that the gateway has said are left out: the
 * result after one says its place again. To gateways that know our extensions.
 */
export function placed(ops: readonly OpText[], position: number): readonly OpText[] {
  let follows = false;
  return ops.flatMap((op, index) => {
    const isOwn = op.text !== "";
    const said = isOwn && !follows ? withPosition(op, position + index) : op;
    follows = isOwn;
    return isOwn ? [said] : [];
  });
}

function withPosition({ hash, text, bytes, parts }: OpText, position: number): OpText {
  const mark = `{"position":${position},`;
  const total = bytes + mark.length - 1;
  if (parts === undefined) return { hash, text: `${mark}${text.slice(1)}`, bytes: total };
  const [head = "", ...rest] = parts;
  const marked = [`${mark}${head.slice(1)}`, ...rest];
  // Cutting a long text copies it. What is only put together is copied when it is looked at, which nothing does here.
  return { hash, text: marked.reduce((whole, part) => whole + part, ""), bytes: total, parts: marked };
}

function optsText(opts: StepCall["opts"], args: readonly unknown[] | undefined, more: object | undefined): string {
  if (opts === undefined && args === undefined && more === undefined) return "{}";
  return JSON.stringify(args === undefined ? { ...opts, ...more } : { ...opts, input: args, ...more });
}

function tail({ timing, attempt, retryAfter, maxAttempts }: OpExtras): string {
  const nanos = `{"a":${timing.startedMs * 1e6},"b":${Math.round(timing.durationMs * 1e6)}}`;
  if (attempt === undefined) return `,"timing":${nanos}`;
  const again = retryAfter === undefined ? "" : `,"retryAfter":${JSON.stringify(retryAfter)}`;
  const limit = maxAttempts === undefined ? "" : `,"maxAttempts":${maxAttempts}`;
  return `,"timing":${nanos},"attempt":${attempt}${again}${limit}`;
}
