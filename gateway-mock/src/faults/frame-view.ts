/** A frame as people read it: JSON, with texts that are too long cut, and secrets left out. */
import { isRecord } from "@holdfast/protocol";
import { doneText } from "./faults.ts";
import { type AnyFrame, type SeenFrame, textOf } from "./frame-facts.ts";
import type { FaultDecision } from "./rules/fault-book.ts";
import type { Direction } from "./rules/fault-rule.ts";

/** Of each text in a frame. */
const MAX_TEXT = 4_000;
/** Larger JSON is shown as the text it begins with. */
const MAX_JSON_BYTES = 64 * 1024;
const SECRET: ReadonlySet<string> = new Set(["sessionToken", "syncToken"]);

export interface FrameView {
  /** Rises with every frame of the gateway's that is watched. */
  readonly sequence: number;
  readonly atMs: number;
  readonly connectionId: string | null;
  readonly instanceId: string | null;
  readonly direction: Direction;
  readonly kind: string;
  readonly sizeBytes: number;
  readonly requestId: string | null;
  readonly functionId: string | null;
  readonly runId: string | null;
  readonly steps: readonly string[];
  /** What a fault did to it; null = it passed as it was. */
  readonly fault: { readonly id: string; readonly what: string; readonly text: string } | null;
  readonly frame: Readonly<Record<string, unknown>>;
}

export function frameView(
  seen: SeenFrame,
  fault: FaultDecision | null,
  at: { readonly sequence: number; readonly atMs: number },
): FrameView {
  const { frame } = seen;
  return {
    ...at,
    connectionId: seen.connection?.connectionId ?? null,
    instanceId: seen.connection?.instanceId ?? null,
    direction: seen.direction,
    kind: frame.kind === "UNKNOWN" ? `UNKNOWN ${frame.number}` : frame.kind,
    sizeBytes: seen.sizeBytes,
    requestId: seen.requestId,
    functionId: seen.functionId(),
    runId: seen.runId(),
    steps: seen.steps().map(({ name, hash }) => name ?? hash),
    fault: fault && { id: fault.id, what: fault.rule.what, text: doneText(fault) },
    frame: fieldsOf(frame),
  };
}

function fieldsOf(frame: AnyFrame): Record<string, unknown> {
  const fields = Object.entries(frame).filter(([name]) => name !== "kind");
  return Object.fromEntries(fields.map(([name, value]) => [name, SECRET.has(name) ? "(left out)" : shown(value)]));
}

function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return bytesShown(value);
  if (typeof value === "string") return cut(value);
  if (Array.isArray(value)) return value.map(shown);
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shown(one)]));
  return value;
}

/** Nearly all bytes of frames are JSON. */
function bytesShown(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return null;
  const text = textOf(bytes);
  if (bytes.byteLength <= MAX_JSON_BYTES) {
    try {
      return shown(JSON.parse(text));
    } catch {
      // Shown as it is.
    }
  }
  return cut(text);
}

const cut = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`;
