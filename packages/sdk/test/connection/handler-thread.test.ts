import { deferred, plainError, silentLog } from "@holdfast/core";
import { encodeGatewayFrame } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import { HandlerThread } from "../../src/connection/pool-thread/handler-thread.ts";
import {
  ISOLATED_PROTOCOL_VERSION,
  type IsolatedCommand,
  type IsolatedReport,
} from "../../src/connection/shared/isolated-messages.ts";
import { COUNTERS_BYTES, sharedCounters } from "../../src/connection/shared/shared-counters.ts";
import type { ExecutionResult } from "../../src/execution/execution.ts";
import { cellsBytes, threadCells } from "../../src/isolation/shared/thread-cells.ts";
import { done, type ManualCall } from "./harness.ts";

const version = ISOLATED_PROTOCOL_VERSION;
const NO_BYTES = new Uint8Array(0);

const frame = (requestId: string): Uint8Array =>
  encodeGatewayFrame({
    kind: "GATEWAY_EXECUTOR_REQUEST",
    ...{ requestId, accountId: "a", envId: "e", appId: "i", functionSlug: "app-fn", stepId: "step", runId: "run" },
    ...{ systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, appName: "app", functionId: "", leaseId: "l", jobId: "j" },
    requestPayload: new Uint8Array([1]),
  });

/** A connection thread, as the pool thread hears it. */
class FakeConnection {
  readonly said: IsolatedReport[] = [];
  #listener: (value: unknown) => void = () => {};
  isClosed = false;

  on(event: string, listener: (value: unknown) => void): void {
    if (event === "message") this.#listener = listener;
  }

  postMessage(report: IsolatedReport): void {
    this.said.push(report);
  }

  close(): void {
    this.isClosed = true;
  }

  says(command: object): void {
    this.#listener({ version, turn: 0, ...command });
  }

  get types(): string[] {
    return this.said.map(({ type }) => type);
  }
}

function bench({ isSpent = false } = {}) {
  const clock = fakeClock();
  const cells = threadCells(new SharedArrayBuffer(cellsBytes(1)));
  const calls: ManualCall[] = [];
  const main: string[] = [];
  const thread = new HandlerThread({
    ...{ slot: 0, cells, clock, timers: clock, log: silentLog, sdkVersion: "test" },
    strategy: () => ({
      execute: (request, port, signal) => {
        const result = deferred<ExecutionResult>();
        calls.push({ request, port, signal, result });
        return result.promise;
      },
    }),
    main: {
      onLent: (turn) => void main.push(`lent ${turn}`),
      onReturned: (turn, isOver) => void main.push(`returned ${turn}${isOver ? ", spent" : ""}`),
    },
    isSpent: () => isSpent,
  });
  cells.ready(0);
  const connect = (
    requests: Extract<IsolatedCommand, { type: "SYNC" }>["requests"] = [],
    claimedTurn: number | null = null,
  ): FakeConnection => {
    const connection = new FakeConnection();
    const counters = new SharedArrayBuffer(COUNTERS_BYTES);
    sharedCounters(counters).setSuspensionLimit(2_000);
    thread.connect(connection as never);
    connection.says({ type: "SYNC", requests, claimedTurn, counters, revocations: new SharedArrayBuffer(4) });
    return connection;
  };
  const give = (connection: FakeConnection, requestId: string): number => {
    const turn = cells.claim(0, "connection") as number;
    const request = { request: frame(requestId), extensions: [], doubtNumber: 0, asOf: null };
    connection.says({ type: "EXECUTION_REQUEST", requestId, turn, ...request });
    return turn;
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { cells, calls, main, thread, connect, give, settled };
}

describe("A pool thread's end of the connection", () => {
  it("HANDLERS-1: what was not acknowledged is said again to the next connection thread, in the same order", async () => {
    const { calls, connect, give, settled } = bench();
    const first = connect();
    const turn = give(first, "r");
    void calls[0]?.port.checkpoint(new Uint8Array([1]));
    const second = connect([{ requestId: "r", turn }]);
    expect(first.isClosed).toBe(true);
    expect(second.types).toEqual(["TURN_BEGUN", "CHECKPOINT"]);
    calls[0]?.result.resolve(done());
    await settled();
    expect(second.types).toEqual(["TURN_BEGUN", "CHECKPOINT", "EXECUTION_RESPONSE"]);
    const third = connect([{ requestId: "r", turn }]);
    expect(third.types).toEqual(["TURN_BEGUN", "CHECKPOINT", "EXECUTION_RESPONSE"]);
    third.says({ type: "REPLY_ACKED", requestId: "r" });
    expect(connect().types).toEqual([]);
  });

  it("HANDLERS-2: a request that the next connection thread does not know is given up", async () => {
    const { calls, connect, give, settled } = bench();
    give(connect(), "r");
    const second = connect([]);
    expect(calls[0]?.signal.aborted).toBe(true);
    calls[0]?.result.resolve(done());
    await settled();
    expect(second.types).toEqual([]);
  });

  it("HANDLERS-3: a turn that was claimed for a request that never came is over", () => {
    const { cells, connect, main } = bench();
    const turn = cells.claim(0, "connection") as number;
    cells.setWaiting("connection", true);
    const connection = connect([{ requestId: "lost", turn }], turn);
    expect(cells.read(0)).toMatchObject({ state: "free", turn });
    expect(connection.said).toMatchObject([
      { type: "UNKNOWN_REQUEST", requestId: "lost", mayHaveBegun: false },
      { type: "TURN_ENDED" },
    ]);
    expect(main).toEqual([`returned ${turn}`]);
  });

  it("HANDLERS-6: a thread that became free when the connection thread was gone says so to the next one", () => {
    const { cells, thread, connect } = bench();
    connect();
    const turn = cells.claim(0, "main") as number;
    cells.setWaiting("connection", true);
    // The next connection thread has looked already, and its port has not arrived.
    cells.release(0, turn);
    thread.onFree();
    expect(connect().types).toEqual(["TURN_ENDED"]);
    cells.setWaiting("connection", false);
    expect(connect().types).toEqual([]);
  });

  it("HANDLERS-6: so does one whose own turn ended then", async () => {
    const { cells, calls, connect, give, settled } = bench();
    const turn = give(connect(), "r");
    cells.setWaiting("connection", true);
    calls[0]?.result.resolve(done());
    await settled();
    const second = connect([{ requestId: "r", turn }], turn);
    expect(second.types).toEqual(["TURN_BEGUN", "EXECUTION_RESPONSE", "TURN_ENDED"]);
  });

  it("HANDLERS-7: a request that was dropped when the connection thread was gone is not begun again", async () => {
    const { calls, connect, give, settled } = bench();
    const turn = give(connect(), "r");
    calls[0]?.result.resolve({ ...done(), stale: true });
    await settled();
    const second = connect([
      { requestId: "r", turn },
      { requestId: "r", turn: turn + 1 },
    ]);
    expect(second.said).toMatchObject([
      { type: "EXECUTION_DROPPED", requestId: "r", turn },
      { type: "UNKNOWN_REQUEST", requestId: "r", mayHaveBegun: false },
    ]);
  });

  it("HANDLERS-7: nor one whose lease was lost", () => {
    const { connect, give } = bench();
    const first = connect();
    const turn = give(first, "r");
    first.says({ type: "LEASE_LOST", requestId: "r" });
    expect(connect([{ requestId: "r", turn }]).said).toMatchObject([{ type: "EXECUTION_DROPPED", turn }]);
  });

  it("HANDLERS-8: a thread in which a module could not be evaluated replies, and is free for no further turn", async () => {
    const { calls, cells, connect, give, main, settled } = bench({ isSpent: true });
    const connection = connect();
    const turn = give(connection, "r");
    cells.setWaiting("connection", true);
    calls[0]?.result.resolve(done());
    await settled();
    expect(connection.types).toEqual(["TURN_BEGUN", "EXECUTION_RESPONSE"]);
    expect(cells.read(0).state).toBe("doomed");
    expect(main).toEqual([`lent ${turn}`, `returned ${turn}, spent`]);
  });

  it("HANDLERS-3: a turn that the thread does have goes on", () => {
    const { cells, connect, give } = bench();
    const turn = give(connect(), "r");
    connect([{ requestId: "r", turn }], turn);
    expect(cells.read(0)).toMatchObject({ state: "connection", turn });
  });

  it("a request of a turn before the thread was there may have begun", () => {
    const { connect } = bench();
    const connection = connect([{ requestId: "of another thread", turn: 0 }]);
    expect(connection.said).toMatchObject([{ type: "UNKNOWN_REQUEST", mayHaveBegun: true }]);
  });

  it("HANDLERS-4: the reply is posted before the turn is over", async () => {
    const { calls, cells, connect, give, main, settled } = bench();
    const connection = connect();
    const turn = give(connection, "r");
    expect(main).toEqual([`lent ${turn}`]);
    cells.setWaiting("connection", true);
    calls[0]?.result.resolve(done());
    await settled();
    expect(connection.types).toEqual(["TURN_BEGUN", "EXECUTION_RESPONSE", "TURN_ENDED"]);
    expect(cells.read(0)).toMatchObject({ state: "free", turn });
    expect(main).toEqual([`lent ${turn}`, `returned ${turn}`]);
  });

  it("HANDLERS-4: of a turn that main has ended nothing is said to be over", async () => {
    const { calls, cells, connect, give, main, settled } = bench();
    const connection = connect();
    const turn = give(connection, "r");
    expect(cells.doom(0, turn)).toBe(true);
    calls[0]?.result.resolve(done());
    await settled();
    expect(connection.types).not.toContain("TURN_ENDED");
    expect(main).toEqual([`lent ${turn}`]);
  });

  it("HANDLERS-5: a turn that main has ended is not begun, and is said to have begun only before the look", () => {
    const { calls, cells, connect, main } = bench();
    const connection = connect();
    const turn = cells.claim(0, "connection") as number;
    cells.doom(0, turn);
    const request = { request: frame("r"), extensions: [], doubtNumber: 0, asOf: null };
    connection.says({ type: "EXECUTION_REQUEST", requestId: "r", turn, ...request });
    expect(calls).toEqual([]);
    expect(main).toEqual([]);
    expect(connection.types).toEqual(["TURN_BEGUN"]);
  });

  it("the last words of a thread go to the connection thread, too", () => {
    const { connect, thread } = bench();
    const connection = connect();
    thread.onCrash(plainError("ISOLATE_THREAD_LOST", "Its thread ended."));
    expect(connection.said).toMatchObject([{ type: "CRASHING", error: { message: "Its thread ended." } }]);
  });
});
