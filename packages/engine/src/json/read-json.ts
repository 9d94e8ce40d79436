/** Reads JSON that came in: small at once, large in turns of the event loop (docs/decisions/0049). */
import { HoldfastError, nextTurn } from "@holdfast/core";
import { asciiText, parseJsonBytes, WIRE_LIMITS } from "@holdfast/protocol";
import { byteMarks } from "./byte-marks.ts";
import { type LargeJsonOptions, LargeJsonReader } from "./large-json.ts";

/** JSON up to this size is read at once: some milliseconds, whatever it holds. */
export const SMALL_BYTES = 64 * 1024;
/** Between two turns. */
export const CHARS_A_TURN = 64 * 1024;
const DECODED_BYTES = 512 * 1024;
/** Takes as long as a turn of a scan. */
const SEEN_BYTES = 1024 * 1024;

/**
 * Reads JSON in turns, so that nothing else waits for it.
 * @throws HoldfastError `FRAME_INVALID`
 */
export async function readLargeJson(bytes: Uint8Array, options: LargeJsonOptions): Promise<LargeJson> {
  const { isAscii, hasControls } = await seen(bytes);
  const text = isAscii ? asciiText(bytes) : await decoded(bytes, options.what);
  const reader = new LargeJsonReader(text, hasControls ? options : { ...options, isWithoutControls: true });
  while (!reader.scan(CHARS_A_TURN)) await nextTurn();
  return { value: reader.value, innermost: reader.innermost.map(({ start, end }) => text.slice(start, end)) };
}

/**
 * Reads JSON: at once where it is small, else in turns, with what is long in it as `JsonText`.
 * @throws HoldfastError `FRAME_INVALID`
 */
export async function readJson(bytes: Uint8Array, where: Pick<LargeJsonOptions, "what" | "levels">): Promise<unknown> {
  if (bytes.byteLength <= SMALL_BYTES) return parseJsonBytes(bytes, where.what);
  return (await readLargeJson(bytes, { ...where, maxDepth: WIRE_LIMITS.maxJsonDepth })).value;
}

export interface LargeJson {
  /** With what is long in it as `JsonText`. */
  readonly value: unknown;
  /** The texts of the containers on the last level that is built. */
  readonly innermost: readonly string[];
}

/** In turns, as all that looks at each byte. */
async function seen(bytes: Uint8Array): Promise<{ readonly isAscii: boolean; readonly hasControls: boolean }> {
  let isAscii = true;
  let hasControls = false;
  for (let at = 0; at < bytes.byteLength; at += SEEN_BYTES) {
    if (at > 0) await nextTurn();
    const part = byteMarks(bytes.subarray(at, at + SEEN_BYTES));
    isAscii &&= part.isAscii;
    hasControls ||= part.hasControls;
  }
  return { isAscii, hasControls };
}

async function decoded(bytes: Uint8Array, what: string): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parts: string[] = [];
  try {
    for (let at = 0; at < bytes.byteLength; at += DECODED_BYTES) {
      if (at > 0) await nextTurn();
      parts.push(decoder.decode(bytes.subarray(at, at + DECODED_BYTES), { stream: true }));
    }
    parts.push(decoder.decode());
  } catch (cause) {
    throw new HoldfastError("FRAME_INVALID", `${what} is not JSON.`, { cause });
  }
  return parts.join("");
}
