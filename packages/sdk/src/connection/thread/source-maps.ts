/**
 * Turns the frames of a stall report into places in the author's source, where a source map can be read without
 * keeping the connection waiting.
 */
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { AnyMap, originalPositionFor, type TraceMap } from "@jridgewell/trace-mapping";
import type { StallFrame } from "../shared/stall.ts";
import type { RawFrame } from "./main-stack.ts";

/** A larger map is left alone: reading it would keep the connection waiting. */
const MAX_MAP_BYTES = 8 * 1024 * 1024;
/** Scripts whose maps are kept for the next report. */
const MAX_KEPT = 8;

/** Turns frames of what runs into places in what was written. */
export interface SourceMaps {
  map(frames: readonly RawFrame[]): Promise<StallFrame[]>;
}

export function createSourceMaps(): SourceMaps {
  const kept = new Map<string, Promise<TraceMap | undefined>>();

  const mapOf = (url: string, sourceMapUrl: string): Promise<TraceMap | undefined> => {
    const known = kept.get(url);
    if (known) return known;
    const found = readMap(url, sourceMapUrl).catch(() => undefined);
    kept.set(url, found);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return found;
  };

  const place = async (frame: RawFrame): Promise<StallFrame> => {
    const { functionName, url, line, column, sourceMapUrl } = frame;
    const own = { functionName, file: pathOf(url), line, column };
    if (sourceMapUrl === "") return own;
    const map = await mapOf(url, sourceMapUrl);
    if (map === undefined) return own;
    const original = originalPositionFor(map, { line, column: column - 1 });
    if (original.source === null) return own;
    const { source, name } = original;
    return {
      functionName: functionName || (name ?? ""),
      file: pathOf(source),
      line: original.line,
      column: original.column + 1,
    };
  };

  return { map: (frames) => Promise.all(frames.map(place)) };
}

async function readMap(url: string, sourceMapUrl: string): Promise<TraceMap | undefined> {
  if (sourceMapUrl.startsWith("data:")) return new AnyMap(inlineText(sourceMapUrl), url);
  const where = new URL(sourceMapUrl, url);
  if (where.protocol !== "file:" || (await stat(where)).size > MAX_MAP_BYTES) return undefined;
  return new AnyMap(await readFile(where, "utf8"), where.href);
}

function inlineText(dataUrl: string): string {
  const comma = dataUrl.indexOf(",");
  const data = dataUrl.slice(comma + 1);
  if (data.length > 2 * MAX_MAP_BYTES) throw new Error("The source map is too large.");
  return /;base64$/i.test(dataUrl.slice(0, comma)) ? Buffer.from(data, "base64").toString() : decodeURIComponent(data);
}

function pathOf(url: string): string {
  try {
    return url.startsWith("file:") ? fileURLToPath(url) : url;
  } catch {
    return url;
  }
}
