/**
 * What the code of this thread is doing right now, as text. Main asks for it through the inspector when a turn is over
 * its budget, in the middle of the code: so it is short, leaves nothing behind and never throws. Places are those of
 * the sources where a source map says so; it is read here, since the thread ends anyway.
 */
import { readFileSync, statSync } from "node:fs";
import { findSourceMap, SourceMap } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

interface Place {
  readonly functionName: string;
  /** Path or URL; "" = built in. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const MAX_FRAMES = 20;
const MAX_READ_FRAMES = 60;
const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_LENGTH = 8_192;
const OWN_SCRIPT = "holdfast-pool-thread.cjs";

/** `above`: what main calls to ask. Innermost first, one line a frame. "" = no code is running: it waits for something. */
export function lastStack(above: () => unknown): string {
  try {
    const places = placesOf(above);
    // The first have neither name nor file: they are the inspector's question.
    const running = places.slice(places.findIndex(({ functionName, file }) => functionName !== "" || file !== ""));
    const outermost = running.findLastIndex(({ file }) => isApps(file));
    return running
      .slice(0, Math.min(MAX_FRAMES, outermost + 1))
      .map(mapped)
      .map(({ functionName, file, line, column }) => {
        const place = file === "" ? "native" : `${file}:${line}:${column}`;
        return functionName === "" ? `    at ${place}` : `    at ${functionName} (${place})`;
      })
      .join("\n")
      .slice(0, MAX_LENGTH);
  } catch {
    return "";
  }
}

const isApps = (file: string): boolean => file !== "" && !file.startsWith("node:") && !file.includes(OWN_SCRIPT);

function placesOf(above: () => unknown): readonly Place[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = MAX_READ_FRAMES;
    Error.prepareStackTrace = (_error, sites) =>
      sites.map(
        (site): Place => ({
          functionName: site.getFunctionName() ?? "",
          file: site.getScriptNameOrSourceURL() ?? "",
          line: site.getLineNumber() ?? 0,
          column: site.getColumnNumber() ?? 0,
        }),
      );
    Error.captureStackTrace(holder, above);
    return holder.stack as readonly Place[];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function mapped(place: Place): Place {
  if (!isApps(place.file)) return place;
  const shown = { ...place, file: pathOf(place.file) };
  try {
    const url = place.file.startsWith("file:") ? place.file : pathToFileURL(place.file).href;
    const known = findSourceMap(place.file) ?? findSourceMap(url);
    const map = known ?? readMap(url);
    const entry = map?.findEntry(place.line - 1, place.column - 1);
    if (entry === undefined || !("originalSource" in entry)) return shown;
    const { originalSource, originalLine, originalColumn } = entry;
    const file = pathOf(new URL(originalSource, url).href);
    return { ...place, file, line: originalLine + 1, column: originalColumn + 1 };
  } catch {
    return shown;
  }
}

/** Of a file whose map Node has not read, since it was not asked to. */
function readMap(url: string): SourceMap | undefined {
  const text = readText(url);
  const address = /\/\/[#@] sourceMappingURL=(\S+)\s*$/.exec(text.slice(-MAX_FILE_BYTES))?.[1];
  if (address === undefined) return undefined;
  const json = address.startsWith("data:") ? inlineText(address) : readText(new URL(address, url).href);
  return new SourceMap(JSON.parse(json));
}

function readText(url: string): string {
  const path = fileURLToPath(url);
  return statSync(path).size > MAX_FILE_BYTES ? "" : readFileSync(path, "utf8");
}

function inlineText(dataUrl: string): string {
  const comma = dataUrl.indexOf(",");
  const data = dataUrl.slice(comma + 1);
  return /;base64$/i.test(dataUrl.slice(0, comma)) ? Buffer.from(data, "base64").toString() : decodeURIComponent(data);
}

function pathOf(url: string): string {
  return url.startsWith("file:") ? fileURLToPath(url) : url;
}
