import { MessageChannel } from "node:worker_threads";
import { type Clock, readClocks } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { ISOLATION_VERSION, type PoolCommand, type PoolReport } from "../../src/isolation/shared/isolation-messages.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../../src/isolation/shared/thread-cells.ts";
import type { Code } from "../../src/isolation/thread/code-finder.ts";
import { LeftBehind } from "../../src/isolation/thread/left-behind.ts";
import { PoolTurns } from "../../src/isolation/thread/pool-turns.ts";
import { until } from "../connection/until.ts";

const code = { kind: "body", module: "file:///code.js", name: "body" } as const;
const subject = { requestId: "request", runId: "run", functionSlug: "app-fn" };

let nowMs: number;
let idleMs: number;
let exits: number;
const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
let cells: ThreadCells;
let turns: PoolTurns;
let posted: PoolReport[];
let begun: number;
let evaluated: (body: Code) => void;

beforeEach(() => {
  nowMs = 1_000_000;
  idleMs = 500_000;
  exits = 0;
  cells = threadCells(new SharedArrayBuffer(cellsBytes(1)));
  posted = [];
  begun = 0;
  const finding = new Promise<Code>((resolve) => {
    evaluated = resolve;
  });
  turns = new PoolTurns({
    ...{ slot: 0, cells, clock, onEnding: () => {} },
    leftBehind: new LeftBehind({ nowMs: () => nowMs, idleMs: () => idleMs }),
    exit: () => {
      exits += 1;
    },
    finder: { known: () => undefined, find: () => finding, isSpent: false },
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

function runBody(turn: number): PoolCommand {
  const asOf = readClocks(clock);
  return { type: "RUN_BODY", version: ISOLATION_VERSION, turn, code, subject, input: [], announces: true, asOf };
}

function give(): number {
  const turn = cells.claim(0, "main") ?? 0;
  turns.receive(runBody(turn));
  return turn;
}

/** The event loop has waited for this part of the time. */
function pass(ms: number, waitedMs: number): void {
  nowMs += ms;
  idleMs += waitedMs;
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

  it("a result that cannot be read is refused as one on main is", async () => {
    give();
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    evaluated(() => proxy);
    await settled();
    expect(posted.at(-1)).toMatchObject({ type: "FAILED", thrown: { error: { code: "STEP_RESULT_INVALID" } } });
    expect(posted.at(-1)).toHaveProperty("thrown.error.message", expect.stringContaining("has been revoked"));
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

  it("an answer that cannot be posted ends its turn all the same, with what is wrong with it", async () => {
    const all: PoolReport[] = [];
    const failing = new PoolTurns({
      ...{ slot: 0, cells, clock, onEnding: () => {}, exit: () => {}, leftBehind: new LeftBehind(undefined) },
      finder: { known: () => body, find: () => Promise.resolve(body), isSpent: false },
      post: (report) => {
        if (report.type === "DONE") throw new Error("It could not be cloned.");
        all.push(report);
      },
    });
    const turn = cells.claim(0, "main") ?? 0;
    failing.receive({ ...runBody(turn), asOf: null });
    expect(all.at(-1)).toMatchObject({
      type: "FAILED",
      turn,
      thrown: { error: { message: "It could not be cloned." } },
    });
  });

  describe("TURNS-4: of code that an earlier turn left behind", () => {
    async function firstTurn(): Promise<void> {
      give();
      evaluated(body);
      await settled();
    }

    it.each([
      ["was idle", 600_000, 599_900, false],
      ["computed for a moment", 100, 0, false],
      ["computed for a while, a long time ago", 60_000, 55_000, false],
      ["computed all the time", 600, 0, true],
      ["computed most of the time", 5_000, 1_000, true],
    ])("a thread that %s (%d ms, idle for %d) refuses the next turn: %s", async (_, ms, waitedMs, isRefused) => {
      await firstTurn();
      pass(ms, waitedMs);
      const turn = give();
      await settled();
      expect(begun).toBe(isRefused ? 1 : 2);
      expect(exits).toBe(isRefused ? 1 : 0);
      if (isRefused) expect(posted.at(-1)).toMatchObject({ type: "LEFT_BEHIND", turn, busyMs: ms - waitedMs });
    });

    it("a thread in which main has seen it compute just now refuses the next turn", async () => {
      await firstTurn();
      pass(600_000, 595_000);
      cells.setKeptBusy(0, true);
      give();
      expect(posted.at(-1)).toMatchObject({ type: "LEFT_BEHIND", busyMs: 5_000 });
    });

    it("a new thread takes its first turn, whatever it has computed before", async () => {
      pass(60_000, 0);
      cells.setKeptBusy(0, true);
      await firstTurn();
      expect(begun).toBe(1);
    });

    it("turns of the connection thread's are refused before the handlers hear of them, and so are those that main has ended", async () => {
      const heard: unknown[] = [];
      turns.handlers = {
        connect: (port) => void port.on("message", (message: { turn: number }) => heard.push(message.turn)),
        onFree: () => {},
        onCrash: () => {},
        check: async () => {},
      };
      const { port1, port2 } = new MessageChannel();
      turns.receive({ type: "CONNECTION_PORT", version: ISOLATION_VERSION, turn: 0, port: port1 });
      const request = async (turn: number): Promise<void> => {
        port2.postMessage({ type: "EXECUTION_REQUEST", turn });
        port2.postMessage({ type: "OTHER", turn: -turn });
        await until(() => heard.includes(-turn), "the message after it");
      };
      const first = cells.claim(0, "connection") ?? 0;
      await request(first);
      turns.lend(first, subject);
      cells.release(0, first);
      turns.return(first, false);
      pass(600, 0);
      const second = cells.claim(0, "connection") ?? 0;
      await request(second);
      expect(posted.at(-1)).toMatchObject({ type: "LEFT_BEHIND", turn: second });
      cells.doom(0, second);
      await request(second + 10);
      expect(heard).toEqual([first, -first, -second, -second - 10]);
      port2.close();
    });
  });
});
