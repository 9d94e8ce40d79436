import { expect, test } from "vitest";
import type { Statement } from "../../src/store-postgres/connection/database.ts";
import { inGroups } from "../../src/store-postgres/connection/pg-values.ts";
import { type LongWrite, sendLong } from "../../src/store-postgres/writer/long-rows.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** A database that answers when it is told to; statements are named by their text. */
function world() {
  const happened: string[] = [];
  const open = new Map<string, { resolve: (rows: never[]) => void; reject: (error: Error) => void }>();
  const query = (text: string): Promise<never[]> => {
    happened.push(`sent ${text}`);
    return new Promise((resolve, reject) => open.set(text, { resolve, reject }));
  };
  const write = (text: string, length: number): LongWrite => ({
    length,
    make: (): Statement => {
      happened.push(`made ${text}`);
      return { text, params: [] };
    },
  });
  return {
    happened,
    query,
    write,
    answer: (text: string) => open.get(text)?.resolve([]),
    refuse: (text: string) => open.get(text)?.reject(new Error(`${text} failed`)),
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("rows with long texts fill statements; each of a megabyte has its own, and order is kept", () => {
  const lengths = [10, 300 * KIB, MIB, 100 * KIB, 400 * KIB, 300 * KIB, 500 * KIB, 2 * MIB];
  const { short, long } = inGroups(lengths, (length) => length);
  expect(short).toEqual([10, 100 * KIB]);
  expect(long.map(({ rows }) => rows)).toEqual([[300 * KIB], [MIB], [400 * KIB, 300 * KIB], [500 * KIB], [2 * MIB]]);
  expect(long.flatMap(({ rows }) => rows)).toEqual(lengths.filter((length) => length > 100 * KIB));
  for (const { rows, length } of long) expect(rows.reduce((sum, one) => sum + one, 0)).toBe(length);
});

test("no row is long: nothing is taken apart", () => {
  const rows = [1, 2, 3];
  expect(inGroups(rows, (length) => length)).toEqual({ short: rows, long: [] });
});

test("a statement has at most four rows, so that there are few texts of them", () => {
  const rows = Array.from({ length: 10 }, () => 256 * KIB);
  const { long } = inGroups(rows, (length) => length);
  expect(long.map((group) => group.rows.length)).toEqual([4, 4, 2]);
});

test("LONG-1: each is sent before the next is made", async () => {
  const { happened, query, write } = world();
  await sendLong(query, [write("a", MIB), write("b", MIB)], []);
  expect(happened).toEqual(["made a", "sent a", "made b", "sent b"]);
});

test("LONG-2: what is unanswered is bounded; one that is larger goes alone", async () => {
  const { happened, query, write, answer } = world();
  const sent = sendLong(query, [write("a", 3 * MIB), write("b", MIB), write("c", MIB), write("d", 9 * MIB)], []);
  await settled();
  expect(happened.at(-1)).toBe("sent b");
  answer("a");
  await settled();
  expect(happened.at(-1)).toBe("sent c");
  answer("b");
  await settled();
  expect(happened.at(-1)).toBe("sent c");
  answer("c");
  await sent;
  expect(happened.at(-1)).toBe("sent d");
});

test("LONG-3: the first error in the order of the statements is told, and the transaction ends without the rest", async () => {
  const { happened, query, write, refuse } = world();
  const before = query("before");
  const sent = sendLong(query, [write("a", 4 * MIB), write("b", MIB)], [before]);
  await settled();
  refuse("a");
  refuse("before");
  await expect(sent).rejects.toThrow("before failed");
  expect(happened).toEqual(["sent before", "made a", "sent a", "sent ROLLBACK"]);
});

test("LONG-3: what is not answered yet is handed on, so that its error is seen", async () => {
  const { query, write, answer, refuse } = world();
  const left = await sendLong(query, [write("a", MIB), write("b", MIB)], []);
  answer("a");
  refuse("b");
  expect((await Promise.allSettled(left)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("LONG-3: a text that cannot be made ends the transaction, too", async () => {
  const { happened, query, write } = world();
  const broken: LongWrite = {
    length: MIB,
    make() {
      throw new TypeError("no JSON");
    },
  };
  await expect(sendLong(query, [write("a", MIB), broken, write("b", MIB)], [])).rejects.toThrow("no JSON");
  expect(happened).toEqual(["made a", "sent a", "sent ROLLBACK"]);
});
