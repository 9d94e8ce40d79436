import { describe, expect, test } from "vitest";
import type { Facts } from "../src/data/live.ts";
import { EMPTY, type Rows, withFacts, withHead, withNext } from "../src/data/run-rows.ts";
import { run } from "./runs.ts";

const rows = (ids: string, nextCursor: string | null = null): Rows => ({
  runs: [...ids].map((id) => run(id)),
  nextCursor,
});
const ids = ({ runs }: Rows): string => runs.map(({ id }) => id).join("");

describe("The list of runs", () => {
  test("puts a first page that was read anew in front of what was read before", () => {
    const both = withHead(rows("fedcba", "more"), rows("hgfed", "d"));
    expect([ids(both), both.nextCursor]).toEqual(["hgfedcba", "more"]);
  });

  test("loses what the page does not have any more", () => {
    expect(ids(withHead(rows("fedcba"), rows("fdc", "c")))).toBe("fdcba");
  });

  test("begins anew where there may be a gap, and where the page is all there is", () => {
    expect(withHead(rows("cba"), rows("hg", "g"))).toEqual(rows("hg", "g"));
    expect(withHead(rows("cba"), rows("c"))).toEqual(rows("c"));
    expect(withHead(EMPTY, rows("ba", "a"))).toEqual(rows("ba", "a"));
  });

  test("has no run twice when pages overlap", () => {
    expect(ids(withNext(rows("dc", "c"), rows("cba")))).toBe("dcba");
  });

  test("shows at once what the stream says of its runs, and asks for what it does not", () => {
    const change = (runId: string, status: string | null): Facts => ({
      runId,
      functionId: "f",
      atMs: 2_000,
      status,
      facts: [],
    });
    const own = withFacts(rows("ba"), [change("a", "RUNNING"), change("a", "FAILED")]);
    expect(own.rows.runs[1]).toMatchObject({ status: "FAILED", endedMs: 2_000 });
    expect(own.rows.runs[0]).toEqual(run("b"));
    expect(own.isNewer).toBe(true);
    expect(withFacts(rows("ba"), [change("c", "PENDING")])).toEqual({ rows: rows("ba"), isNewer: true });
    expect(withFacts(rows("ba"), [])).toEqual({ rows: rows("ba"), isNewer: false });
  });
});
