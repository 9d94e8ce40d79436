import { plainError, silentLog } from "@holdfast/core";
import type { ExecutorRequest } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, it } from "vitest";
import type { IsolatedCommand, IsolatedReport } from "../../src/connection/shared/isolated-messages.ts";
import { ISOLATED_PROTOCOL_VERSION } from "../../src/connection/shared/isolated-messages.ts";
import type { AdoptedRequest, ThreadMessage } from "../../src/connection/shared/messages.ts";
import { identityOf } from "../../src/connection/shared/reply.ts";
import { COUNTERS_BYTES } from "../../src/connection/shared/shared-counters.ts";
import { IsolatedRequests } from "../../src/connection/thread/isolated-requests.ts";
import type { IsolatedEffect } from "../../src/connection/thread/thread-effect.ts";
import { cellsBytes, threadCells } from "../../src/isolation/shared/thread-cells.ts";

const NO_BYTES = new Uint8Array(0);
const LOST = plainError("ISOLATE_THREAD_LOST", "It is gone.");
const version = ISOLATED_PROTOCOL_VERSION;

const request = (requestId: string): ExecutorRequest =>
  ({
    kind: "GATEWAY_EXECUTOR_REQUEST",
    ...{ requestId, runId: `run of ${requestId}`, leaseId: "lease", appName: "shop", functionSlug: "shop-order" },
    ...{ accountId: "a", envId: "e", appId: "i", functionId: "f", jobId: "j", stepId: "step" },
    ...{ systemTraceCtx: NO_BYTES, userTraceCtx: NO_BYTES, requestPayload: NO_BYTES },
  }) as ExecutorRequest;

/** A port to a thread that does what the test says. */
class FakePort {
  readonly given: IsolatedCommand[] = [];
  readonly #listeners = new Map<string, (value?: unknown) => void>();
  unread: unknown[] = [];

  on(event: string, listener: (value?: unknown) => void): void {
    this.#listeners.set(event, listener);
  }

  postMessage(command: IsolatedCommand): void {
    this.given.push(command);
  }

  close(): void {}

  says(report: Omit<IsolatedReport, "version">): void {
    this.#listeners.get("message")?.({ ...report, version });
  }

  ends(): void {
    this.#listeners.get("close")?.();
  }
}

/** The requests of a connection thread with a pool of so many threads; what leaves is kept, in order. */
function bench(slots: number, adopted: readonly AdoptedRequest[] = []) {
  const clock = fakeClock();
  const cells = new SharedArrayBuffer(cellsBytes(slots));
  const access = threadCells(cells);
  const ports = Array.from({ length: slots }, () => new FakePort());
  for (let slot = 0; slot < slots; slot += 1) access.ready(slot);
  const happened: string[] = [];
  const effects: IsolatedEffect[] = [];
  const post = (message: ThreadMessage): void => void happened.push(`main: ${message.type}`);
  const isolated = new IsolatedRequests(
    {
      ...{ clock, timers: clock, log: silentLog, port: { post }, coalescing: { post }, scheduleFlush: () => {} },
      config: { isolated: [{ appName: "shop", functionSlug: "shop-order" }], sdkVersion: "test" },
      pool: { cells, ports: ports.map((port, slot) => ({ slot, port: port as never })) },
      counters: new SharedArrayBuffer(COUNTERS_BYTES),
      drainPort: (port) => (port as unknown as FakePort).unread.splice(0),
      mainLagMs: () => 0,
    },
    (effect) => void effects.push(effect),
  );
  isolated.adopt(adopted);
  isolated.flush();
  const take = (requestId: string): void =>
    isolated.take(request(requestId), identityOf(request(requestId)), {
      request: NO_BYTES,
      extensions: [],
      doubtNumber: 1,
      asOf: null,
    });
  const turnOf = (port: FakePort, requestId: string): number => {
    isolated.flush();
    const given = port.given.find((one) => one.type === "EXECUTION_REQUEST" && one.requestId === requestId);
    if (given === undefined) throw new Error(`${requestId} was not given.`);
    return given.turn;
  };
  const given = (port: FakePort): string[] => {
    isolated.flush();
    return port.given.flatMap((one) => (one.type === "EXECUTION_REQUEST" ? [one.requestId] : []));
  };
  return { clock, access, ports, happened, effects, isolated, take, turnOf, given };
}

const port = (ports: readonly FakePort[], slot: number): FakePort => ports[slot] as FakePort;
const replies = (effects: readonly IsolatedEffect[]): string[] =>
  effects.flatMap((one) => (one.do === "ISOLATED_WORK" ? [`${one.message.type} ${one.message.requestId}`] : []));

describe("Isolated requests in the connection thread", () => {
  it("ISOLATED-1: a request whose thread ends without having begun goes to another thread, once", () => {
    const { ports, take, given, isolated, effects } = bench(2);
    take("r");
    expect(given(port(ports, 0))).toEqual(["r"]);
    isolated.onThreadLost(0, LOST);
    expect(given(port(ports, 1))).toEqual(["r"]);
    isolated.onThreadLost(0, LOST);
    port(ports, 0).ends();
    expect(given(port(ports, 1))).toEqual(["r"]);
    expect(effects).toEqual([]);
  });

  it("ISOLATED-1: a request that its thread had begun with goes to no other thread", () => {
    const { ports, take, given, turnOf, isolated, effects } = bench(2);
    take("r");
    port(ports, 0).says({ type: "TURN_BEGUN", requestId: "r", turn: turnOf(port(ports, 0), "r") } as never);
    isolated.onThreadLost(0, LOST);
    expect(given(port(ports, 1))).toEqual([]);
    expect(replies(effects)).toEqual(["EXECUTION_RESPONSE r"]);
  });

  it("ISOLATED-2: main knows of a request and of its turn before the thread gets it", () => {
    const { ports, take, happened, isolated } = bench(1);
    take("r");
    expect(happened).toEqual(["main: ISOLATED_REQUEST", "main: ISOLATED_TURN"]);
    expect(port(ports, 0).given.map(({ type }) => type)).toEqual(["SYNC"]);
    isolated.flush();
    expect(port(ports, 0).given.map(({ type }) => type)).toEqual(["SYNC", "EXECUTION_REQUEST"]);
  });

  it("ISOLATED-3: what a thread has posted counts, though its end is heard of first", () => {
    const { ports, take, turnOf, isolated, effects } = bench(1);
    take("r");
    const turn = turnOf(port(ports, 0), "r");
    const response = new Uint8Array([1]);
    port(ports, 0).says({ type: "TURN_BEGUN", requestId: "r", turn } as never);
    port(ports, 0).unread = [{ type: "EXECUTION_RESPONSE", requestId: "r", response, turn, version }];
    isolated.onThreadLost(0, LOST);
    const [first] = effects;
    expect(first).toMatchObject({ do: "ISOLATED_WORK", message: { type: "EXECUTION_RESPONSE", response } });
  });

  it("ISOLATED-3: a thread that ends without a word is answered for once main has had its time to say why", async () => {
    const { clock, ports, take, turnOf, effects } = bench(1);
    take("r");
    port(ports, 0).says({ type: "TURN_BEGUN", requestId: "r", turn: turnOf(port(ports, 0), "r") } as never);
    port(ports, 0).ends();
    expect(effects).toEqual([]);
    await clock.advance(2_000);
    expect(replies(effects)).toEqual(["EXECUTION_RESPONSE r"]);
  });

  it("ISOLATED-4: what a thread says of a turn that it does not have changes nothing", () => {
    const { ports, take, turnOf, effects } = bench(2);
    take("r");
    const turn = turnOf(port(ports, 0), "r");
    const dropped = { type: "EXECUTION_DROPPED", requestId: "r" } as const;
    port(ports, 1).says({ ...dropped, turn } as never);
    port(ports, 0).says({ ...dropped, turn: turn + 1 } as never);
    port(ports, 0).says({ ...dropped, requestId: "other", turn } as never);
    expect(effects).toEqual([]);
    port(ports, 0).says({ ...dropped, turn } as never);
    expect(replies(effects)).toEqual(["EXECUTION_DROPPED r"]);
  });

  it("those that stand in line get the next free thread in the order in which they came", () => {
    const { access, ports, take, given, turnOf } = bench(1);
    for (const id of ["a", "b", "c"]) take(id);
    expect(given(port(ports, 0))).toEqual(["a"]);
    access.release(0, turnOf(port(ports, 0), "a"));
    port(ports, 0).says({ type: "TURN_ENDED", turn: 0 } as never);
    expect(given(port(ports, 0))).toEqual(["a", "b"]);
  });

  const adopted = (requestId: string, slot: number | null): AdoptedRequest => ({
    identity: request(requestId),
    ...{ appName: "shop", leaseId: "lease", ageMs: 1, outcome: null, checkpoints: [] },
    isolated: {
      place: slot === null ? null : { slot, turn: 7 },
      work: { request: NO_BYTES, extensions: [] },
    },
  });

  it("ISOLATED-1: an adopted request goes back when its thread ends before it has said whether it began", () => {
    const { ports, given, isolated, effects } = bench(2, [adopted("silent", 0), adopted("said", 1)]);
    isolated.onThreadLost(0, LOST);
    port(ports, 1).says({ type: "UNKNOWN_REQUEST", requestId: "said", mayHaveBegun: false, turn: 7 } as never);
    expect([...given(port(ports, 0)), ...given(port(ports, 1))]).toEqual(["said"]);
    expect(effects).toEqual([{ do: "ISOLATED_RETURNED", requestId: "silent" }]);
  });

  it("what is adopted without a thread stands in line again, and what a lost thread had goes back", () => {
    const { ports, given, effects } = bench(1, [adopted("with 0", 0), adopted("with 5", 5), adopted("in line", null)]);
    expect(port(ports, 0).given[0]).toMatchObject({ type: "SYNC", requests: [{ requestId: "with 0", turn: 7 }] });
    expect(given(port(ports, 0))).toEqual(["in line"]);
    expect(effects).toEqual([{ do: "ISOLATED_RETURNED", requestId: "with 5" }]);
    port(ports, 0).says({ type: "UNKNOWN_REQUEST", requestId: "with 0", mayHaveBegun: true, turn: 0 } as never);
    expect(effects).toHaveLength(2);
  });
});
