/** Parts of a file, and what is done with one. Threads import this module: it connects nothing. */
import { open, rename, writeFile } from "node:fs/promises";
import { isolated } from "holdfast/isolate";

/** Bytes of a file, from the beginning of a line to the end of one. */
export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Reads a few bytes at each cut, so it stays on the main thread. */
export async function cutIntoParts(path: string, { count }: { count: number }): Promise<Part[]> {
  await using file = await open(path);
  const { size } = await file.stat();
  const cuts = [0];
  for (let part = 1; part < count; part += 1) {
    const position = Math.floor((size * part) / count);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(64 * 1024), position });
    const cut = position + buffer.subarray(0, bytesRead).indexOf("\n") + 1;
    if (cut > Math.max(position, cuts.at(-1) ?? 0) && cut < size) cuts.push(cut);
  }
  return cuts.map((from, index) => ({ from, to: cuts[index + 1] ?? size }));
}

/** Computes: it runs in a thread, for a minute and with 256 MB at most. Done again, it writes the same file. */
export const importPart = isolated(import.meta.url, "import part", parsePart, { budget: "1m", memoryMb: 256 });

async function parsePart(path: string, { from, to }: Part, target: string): Promise<{ rows: number; cents: number }> {
  await using file = await open(path);
  const { buffer } = await file.read({ buffer: Buffer.alloc(to - from), position: from });
  const rows = buffer.toString("utf8").trimEnd().split("\n").map(parseLine);
  await writeFile(`${target}.new`, JSON.stringify(rows));
  await rename(`${target}.new`, target);
  return { rows: rows.length, cents: rows.reduce((total, { cents }) => total + cents, 0) };
}

function parseLine(line: string): { item: string; cents: number } {
  const [item = "", price = ""] = line.split(";");
  const cents = Math.round(Number(price) * 100);
  if (item === "" || !Number.isSafeInteger(cents)) throw new Error(`This is no row: ${line}`);
  return { item, cents };
}
