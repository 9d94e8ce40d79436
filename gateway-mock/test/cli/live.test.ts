import { expect, test } from "vitest";
import { StatusArea } from "../../src/cli/live/status-area.ts";
import { statusLines } from "../../src/cli/live/status-lines.ts";
import { wantsLive } from "../../src/cli/live/wants-live.ts";
import type { Overview } from "../../src/gateway-overview.ts";
import { Screen } from "./screen.ts";

const calm: Overview = {
  workers: new Map([["shop", 1]]),
  running: 1,
  waiting: 2,
  isMore: false,
  completed: 12,
  failed: 0,
  oldest: { functionId: "shop-order", ageMs: 61_400, why: "It sleeps in the step `nap`." },
};

function areaOn(columns = 40, rows = 6) {
  const screen = new Screen(columns, rows);
  const writes: string[] = [];
  const write = (text: string): void => {
    writes.push(text);
    screen.write(text);
  };
  return { screen, writes, area: new StatusArea({ write }) };
}

test("AREA-1: lines scroll above the area, and all of them stay", () => {
  const { screen, area } = areaOn();
  area.write("one\r\n");
  area.show(["a", "b"]);
  for (const line of ["two", "three", "four", "five", "six", "seven"]) area.write(`${line}\r\n`);
  area.show(["c"]);
  area.write("eight\r\n");
  expect(screen.all()).toEqual(["one", "two", "three", "four", "five", "six", "seven", "eight", "c"]);
  area.end();
  expect(screen.all()).toEqual(["one", "two", "three", "four", "five", "six", "seven", "eight"]);
});

test("AREA-1: what another program writes to the same terminal stays as well", () => {
  const { screen, area } = areaOn();
  area.show(["status one", "status two"]);
  screen.write("from the app, in full\r\n");
  area.write("a line\r\n");
  area.show(["status three"]);
  expect(screen.all()).toEqual(["from the app, in full", "a line", "status three"]);
});

test("AREA-2: a change is one write that ends where it began, and no change is none", () => {
  const { screen, writes, area } = areaOn();
  area.show(["a", "b"]);
  area.show(["a", "b"]);
  area.write("line\r\n");
  expect(writes).toHaveLength(2);
  expect(screen.cursor).toEqual({ column: 0, row: 1 });
  area.show(["a", "b"], true);
  expect(writes).toHaveLength(3);
});

test("AREA-3: on a narrow terminal the area takes its two lines and no more", () => {
  for (const columns of [1, 5, 20, 40]) {
    const { screen, area } = areaOn(columns);
    area.show(statusLines(calm, { columns, colours: false }));
    area.write("x\r\n");
    area.show(statusLines({ ...calm, waiting: 3 }, { columns, colours: true }));
    expect(screen.all()[0]).toBe("x");
    expect(screen.all().length).toBeLessThanOrEqual(3);
  }
});

test("the status says who is connected, how many runs do what, and what waits longest and why", () => {
  expect(statusLines(calm, { columns: 100, colours: false })).toEqual([
    "● shop · 1 running · 2 waiting · 12 completed",
    "  shop-order for 1 min: It sleeps in the step `nap`.",
  ]);
  const idle: Overview = { ...calm, workers: new Map(), running: 0, waiting: 0, oldest: null, failed: 3 };
  expect(statusLines(idle, { columns: 100, colours: false })).toEqual([
    "○ no app is connected · 0 running · 0 waiting · 12 completed · 3 failed",
  ]);
  const many: Overview = {
    ...calm,
    isMore: true,
    workers: new Map([
      ["b", 1],
      ["a", 2],
    ]),
  };
  expect(statusLines(many, { columns: 100, colours: false })[0]).toBe(
    "● a (2 workers), b · 1 running · 2 or more waiting · 12 completed",
  );
  expect(statusLines(null, { columns: 100, colours: false })).toEqual(["! the database does not answer"]);
  expect(statusLines(calm, { columns: 20, colours: false })).toEqual(["● shop · 1 running…", "  shop-order for 1…"]);
});

test("names of apps and functions cannot send the terminal commands", () => {
  const hostile: Overview = {
    ...calm,
    workers: new Map([["sh\u001b[2Jop", 1]]),
    oldest: { functionId: "a\nb", ageMs: 0, why: "\u001b[31mx\r\ny" },
  };
  expect(statusLines(hostile, { columns: 100, colours: false })).toEqual([
    "● sh [2Jop · 1 running · 2 waiting · 12 completed",
    "  a b for 0 s: [31mx y",
  ]);
});

test.each([
  ["a terminal", {}, true],
  ["a pipe", { isTerminal: false }, false],
  ["--no-live", { live: false }, false],
  ["JSON", { format: "json" as const }, false],
  ["NO_COLOR", { env: { NO_COLOR: "1" } }, false],
  ["CI", { env: { CI: "true" } }, false],
  ["a terminal that can do nothing", { env: { TERM: "dumb" } }, false],
  ["a terminal of a few rows", { rows: 5 }, false],
  ["CI=false", { env: { CI: "false" } }, true],
])("whether there is a status area: %s", (_what, changed, wanted) => {
  const choice = { live: true, format: "pretty" as const, isTerminal: true, rows: 40, env: {}, ...changed };
  expect(wantsLive(choice)).toBe(wanted);
});
