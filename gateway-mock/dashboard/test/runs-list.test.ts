import { describe, expect, test } from "vitest";
import { type KeptList, KeptLists } from "../src/data/kept-lists.ts";
import type { Rows } from "../src/data/run-rows.ts";
import { mistakesIn, withoutMistakes } from "../src/pages/address-mistakes.ts";
import { bulkFilter, listQuery, readFilter, takenStatuses, untakenStatuses } from "../src/pages/runs-filter.ts";
import { movedBy, shownOf } from "../src/parts/shown-rows.ts";
import { run } from "./runs.ts";

const filterOf = (query: string) => readFilter(new URLSearchParams(query));

describe("What is done with all runs of the list", () => {
  test("is done with failed ones where the filter names no status", () => {
    expect(bulkFilter("rerun", filterOf(""), 0)).toEqual({ status: ["FAILED"] });
    expect(bulkFilter("resume", filterOf("function=f"), 0)).toEqual({ status: ["FAILED"], functionId: "f" });
    expect(bulkFilter("cancel", filterOf(""), 0)).toEqual({ status: ["PENDING", "RUNNING", "WAITING"] });
    expect([untakenStatuses("rerun", filterOf("")), untakenStatuses("cancel", filterOf(""))]).toEqual([
      ["COMPLETED", "CANCELLED"],
      [],
    ]);
  });

  test("is done with what it names, as far as that can be", () => {
    const named = filterOf("status=COMPLETED,RUNNING");
    expect([takenStatuses("rerun", named), untakenStatuses("rerun", named)]).toEqual([["COMPLETED"], []]);
    expect(takenStatuses("cancel", named)).toEqual(["RUNNING"]);
  });
});

test("why runs wait is asked for unless many are read", () => {
  const asked = (isWithWaiting: boolean) =>
    new URLSearchParams(listQuery(filterOf(""), 0, 10, null, isWithWaiting)).get("waiting");
  expect([asked(true), asked(false)]).toEqual(["1", null]);
});

describe("An address that is wrong", () => {
  const partsOf = (query: string) => mistakesIn(new URLSearchParams(query)).map(({ part }) => part);
  const rest = (query: string) => {
    const params = new URLSearchParams(query);
    return withoutMistakes(params, mistakesIn(params)).toString();
  };

  test.each([
    ["", []],
    ["status=failed,RUNNING&function=f&time=1h&event=e&key=k&error=x&eventName=n", []],
    ["graph=g&tenant=t&time=range&from=2027-01-31T09:00:00Z&to=", []],
    ["status=BOGUS", ["status=BOGUS"]],
    ["status=FAILED,BOGUS,", ["status=BOGUS,"]],
    ["after=garbage", ["after=garbage"]],
    ["stauts=FAILED", ["stauts=FAILED"]],
    ["time=soon", ["time=soon"]],
    ["time=toString", ["time=toString"]],
    ["time=range&from=soon&to=2027-01-31T09:00:00Z", ["from=soon"]],
    ["from=2027-01-31T09:00:00Z", ["from=2027-01-31T09:00:00Z"]],
    ["tenant=t", ["tenant=t"]],
    ["function=a&function=b", ["function=b"]],
  ])("names what is not understood of ?%s", (query, parts) => {
    expect(partsOf(query)).toEqual(parts);
  });

  test("is corrected by leaving that out", () => {
    expect(rest("status=BOGUS&function=f&after=garbage")).toBe("function=f");
    expect(rest("status=failed,BOGUS")).toBe("status=FAILED");
    expect(rest("function=a&function=b")).toBe("function=a");
    expect(partsOf(rest("status=failed,BOGUS&time=range&from=x&tenant=t"))).toEqual([]);
  });
});

describe("Rows that are elements", () => {
  test("are those near the window", () => {
    expect(shownOf(10, { from: 2, to: 5 }, -1)).toEqual([2, 3, 4]);
    expect(shownOf(4, { from: 2, to: 50 }, -1)).toEqual([2, 3]);
    expect(shownOf(4, { from: 20, to: 50 }, -1)).toEqual([]);
  });

  test("and the one with the focus, wherever it is, with its neighbours", () => {
    expect(shownOf(100, { from: 10, to: 13 }, 50)).toEqual([10, 11, 12, 49, 50, 51]);
    expect(shownOf(100, { from: 10, to: 13 }, 0)).toEqual([0, 1, 10, 11, 12]);
    expect(shownOf(100, { from: 10, to: 13 }, 99)).toEqual([10, 11, 12, 98, 99]);
    expect(shownOf(100, { from: 10, to: 13 }, 12)).toEqual([10, 11, 12, 13]);
  });
});

describe("What is read in a list", () => {
  const moved = (before: string, now: string, from: number): number => movedBy([...before], [...now], from);

  test("moves by the rows that come in above it, and by those that go", () => {
    expect(moved("dcba", "fedcba", 2)).toBe(2);
    expect(moved("fedcba", "fcba", 4)).toBe(-2);
    expect(moved("fedcba", "gfcba", 4)).toBe(-1);
  });

  test("is the next row where the one at the top has gone, and nothing where all have", () => {
    expect(moved("fedcba", "fea", 3)).toBe(-3);
    expect(moved("cba", "zyx", 1)).toBe(0);
    expect(moved("cba", "cba", 1)).toBe(0);
    expect(moved("", "cba", 0)).toBe(0);
  });
});

describe("A list that is come back to", () => {
  const rows = (count: number): Rows => ({
    runs: Array.from({ length: count }, (_, n) => run(String(n))),
    nextCursor: null,
    top: "",
  });
  const list = (count: number, address = "a"): KeptList => ({ address, rows: rows(count), scrollY: 7 });

  test("is as it was left, once, and of the same address alone", () => {
    const lists = new KeptLists();
    lists.keep("1", list(3));
    lists.keep("2", list(3));
    expect(lists.take("2", "other")).toBeNull();
    expect(lists.take("1", "a")).toMatchObject({ scrollY: 7 });
    expect(lists.take("1", "a")).toBeNull();
  });

  test("is forgotten, the oldest first, where there are too many lists or rows", () => {
    const many = new KeptLists();
    for (let n = 0; n < 30; n += 1) many.keep(String(n), list(1));
    expect([many.take("9", "a"), many.take("10", "a")?.scrollY]).toEqual([null, 7]);
    const long = new KeptLists();
    for (const id of ["1", "2", "3"]) long.keep(id, list(9_000));
    expect(["1", "2", "3"].map((id) => long.take(id, "a") !== null)).toEqual([false, true, true]);
    long.keep("4", list(30_000));
    expect(long.take("4", "a")).not.toBeNull();
  });
});
