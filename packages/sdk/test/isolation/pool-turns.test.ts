import { type Clock, readClocks } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { ISOLATION_VERSION, type PoolReport } from "../../src/isolation/shared/isolation-messages.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../../src/isolation/shared/thread-cells.ts";
import type { Code } from "../../src/isolation/thread/code-finder.ts";
import { PoolTurns } from "../../src/isolation/thread/pool-turns.ts";

const code = { kind: "body", module: "file:///code.js", name: "body" } as const;
const subject = { requestId: "request", runId: "run", functionSlug: "app-fn" };

let nowMs: number;
const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
let cells: ThreadCells;
let turns: PoolTurns;
let posted: PoolReport[];
let begun: number;
let evaluated: (body: Code) => void;

beforeEach(() => {
  nowMs = 1_000_000;
  cells = threadCells(new SharedArrayBuffer(cellsBytes(1)));
  posted = [];
  begun = 0;
  const finding = new Promise<Code>((resolve) => {
    evaluated = resolve;
  });
  turns = new PoolTurns({
    ...{ slot: 0, cells, clock, exit: () => {} },
    finder: { known: () => undefined, find: () => finding },
    post: (report) => void posted.push(report),
  });
  cells.prepare(0, 0);
  turns.begin();
});

const body = (): number => {
  begun += 1;
  return begun;
};

const types = (): readonly string[] => posted.map(({ type }) => type);

function give(): number {
  const turn = cells.claim(0, "main") ?? 0;
  const asOf = readClocks(clock);
  turns.receive({
    type: "RUN_BODY",
    version: ISOLATION_VERSION,
    turn,
    code,
    subject,
    input: [],
    announces: true,
    asOf,
  });
  return turn;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Turns of a pool thread", () => {
  it("code runs in its turn, is said to begin, and its result is posted when the thread is free again", async () => {
    give();
    evaluated(body);
    await settled();
    expect(types()).toEqual(["READY", "BEGUN", "DONE"]);
    expect(cells.read(0).state).toBe("free");
  });

  it("a result of which JSON loses something is posted with what it loses", async () => {
    give();
    evaluated(() => ({ tags: new Map([["a", 1]]) }));
    await settled();
    const loss = { what: "a Map", path: "tags", becomes: "{}" };
    expect(posted.at(-1)).toMatchObject({ type: "DONE", json: { text: '{"tags":{}}', loss } });
  });

  it("TURNS-1, TURNS-3: code whose turn main has ended meanwhile does not begin, and nothing is said of it", async () => {
    const turn = give();
    expect(cells.doom(0, turn)).toBe(true);
    evaluated(body);
    await settled();
    expect(begun).toBe(0);
    expect(types()).toEqual(["READY"]);
  });

  it("TURNS-2: code whose module took long waits until main says that the work is ours as of a short time ago", async () => {
    const turn = give();
    nowMs += 1_000;
    evaluated(body);
    await settled();
    expect(types()).toEqual(["READY", "UNCONFIRMED"]);
    const confirm = (asOf: ReturnType<typeof readClocks>): void =>
      turns.receive({ type: "CONFIRMED", version: ISOLATION_VERSION, turn, asOf });
    // Late again.
    const asOf = readClocks(clock);
    nowMs += 1_000;
    confirm(asOf);
    await settled();
    expect(begun).toBe(0);
    confirm(readClocks(clock));
    await settled();
    expect(types()).toEqual(["READY", "UNCONFIRMED", "UNCONFIRMED", "BEGUN", "DONE"]);
  });
});
