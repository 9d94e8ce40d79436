import { describe, expect, test } from "vitest";
import type { Facts } from "../src/data/live.ts";
import { EMPTY, type Rows, withFacts, withHead, withNext } from "../src/data/run-rows.ts";
import type { Run } from "../src/data/types.ts";
import { run } from "./runs.ts";

const rows = (ids: string, nextCursor: string | null = null, top = ids.slice(0, 1)): Rows => ({
  runs: [...ids].map((id) => run(id)),
  nextCursor,
  top,
});
const shown = (list: Rows): string => `${ids(list)} ${list.nextCursor}`;
const ids = ({ runs }: Rows): string => runs.map(({ id }) => id).join("");

describe("The list of runs", () => {
  test("puts a first page that was read anew in front of what was read before", () => {
    expect(shown(withHead(rows("fedcba", "a"), rows("hgfed", "d"), ""))).toBe("hgfedcba a");
  });

  test("loses what the page does not have any more", () => {
    expect(ids(withHead(rows("fedcba"), rows("fdc", "c"), ""))).toBe("fdcba");
  });

  test("begins anew where there may be a gap, and where the page is all there is", () => {
    expect(withHead(rows("cba"), rows("hg", "g"), "")).toEqual(rows("hg", "g"));
    expect(withHead(rows("cba"), rows("c"), "")).toEqual(rows("c"));
    expect(withHead(EMPTY, rows("ba", "a"), "")).toEqual(rows("ba", "a"));
  });

  test("keeps what was looked through where runs that fit are rare, and pages of many others are empty", () => {
    const first = withHead(EMPTY, rows("", "p"), "z");
    const looked = withNext(first, rows("", "k"));
    expect(shown(withHead(looked, rows("", "q"), "zz"))).toBe(" k");
    const found = withNext(looked, rows("f", "d"));
    expect(shown(withHead(found, rows("", "q"), "zz"))).toBe("f d");
    expect(shown(withHead(found, rows("y", "q"), "zz"))).toBe("yf d");
    expect(shown(withHead(withNext(found, rows("")), rows("y", "q"), "zz"))).toBe("yf null");
    // One that came between the two may be missing.
    expect(shown(withHead(found, rows("", "zzz"), "zzzz"))).toBe(" zzz");
  });

  test("has no run twice when pages overlap", () => {
    expect(ids(withNext(rows("dc", "c"), rows("cba")))).toBe("dcba");
  });

  const change = (runId: string, status: string | null): Facts => ({
    runId,
    functionId: "f",
    atMs: 2_000,
    status,
    facts: [],
  });

  test("shows at once what the stream says of its runs, and asks for what it does not", () => {
    const own = withFacts(rows("ba"), [change("a", "RUNNING"), change("a", "FAILED")], []);
    expect(own.rows.runs[1]).toMatchObject({ status: "FAILED", endedMs: 2_000 });
    expect(own.rows.runs[0]).toEqual(run("b"));
    expect(own.isNewer).toBe(true);
    expect(withFacts(rows("ba"), [change("c", "PENDING")], [])).toEqual({ rows: rows("ba"), isNewer: true });
    expect(withFacts(rows("ba"), [], [])).toEqual({ rows: rows("ba"), isNewer: false });
  });

  test("has no run any more that has come out of the filter's statuses, also far from the first page", () => {
    const goingOn = (name: string, status: Run["status"]): Rows => ({ ...rows(""), runs: [run(name, { status })] });
    const after = (was: Run["status"], becomes: Run["status"], wanted: readonly Run["status"][]): string =>
      ids(withFacts(goingOn("a", was), [change("a", becomes)], wanted).rows);
    expect(after("WAITING", "COMPLETED", ["WAITING"])).toBe("");
    expect(after("WAITING", "COMPLETED", ["WAITING", "COMPLETED"])).toBe("a");
    expect(after("FAILED", "RUNNING", ["FAILED"])).toBe("");
    expect(after("PENDING", "FAILED", ["PENDING", "RUNNING"])).toBe("");
    // A worker may be at it.
    expect(after("RUNNING", "WAITING", ["RUNNING"])).toBe("a");
  });
});
