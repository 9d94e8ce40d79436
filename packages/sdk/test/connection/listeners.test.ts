import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { performance } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { connect } from "../../src/connection/main/connect.ts";
import type { Connection } from "../../src/connection/main/connection.ts";
import type { HoldfastChannels, StallMessage, StateChange } from "../../src/index.ts";
import { done, manualStrategy, openTest } from "./harness.ts";
import { openKillable } from "./killable.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
const cleanups: (() => void)[] = [];
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) cleanup();
  await gateway.close();
});

function collect<Name extends keyof HoldfastChannels>(name: Name): HoldfastChannels[Name][] {
  const seen: HoldfastChannels[Name][] = [];
  const listener = (message: unknown): void => void seen.push(message as HoldfastChannels[Name]);
  subscribe(name, listener);
  cleanups.push(() => unsubscribe(name, listener));
  return seen;
}

type Reject = (error: Error) => void;
const broken = (): Error => new Error("out of metrics");
const fail = (): never => {
  throw broken();
};
// biome-ignore lint/suspicious/noThenProperty: a callback may return anything
const thenable = (then: PropertyDescriptor): object => Object.defineProperty({}, "then", then);

const pathOf = (changes: readonly StateChange[]): string => changes.map(({ from, to }) => `${from}>${to}`).join(" ");

describe("onStateChange and holdfast:state", () => {
  it("each change of state is told once, in order, with id and problem, before close() has ended", async () => {
    const told: StateChange[] = [];
    const published = collect("holdfast:state");
    const { connection } = await openTest(gateway.url, { callbacks: { onStateChange: (change) => told.push(change) } });
    const peer = await gateway.peer();
    peer.socket.terminate();
    await gateway.peer(2);
    await until(() => told.length === 3, "the new connection");
    await connection.close();
    expect(pathOf(told)).toBe(
      "CONNECTING>ACTIVE ACTIVE>RECONNECTING RECONNECTING>ACTIVE ACTIVE>CLOSING CLOSING>CLOSED",
    );
    const [first, lost, second] = told;
    expect(first).toMatchObject({
      instanceId: "instance",
      problem: null,
      connectionId: expect.stringMatching(/^01TEST/),
    });
    expect(lost).toMatchObject({ connectionId: null, problem: expect.stringMatching(/./) });
    expect(second?.connectionId).not.toBe(first?.connectionId);
    expect(published).toEqual(told);
  });

  it("a connection thread that crashes and its replacement are told as a lost connection", async () => {
    const told: StateChange[] = [];
    const callbacks = { onStateChange: (change: StateChange) => told.push(change) };
    const { connection, kill } = await openKillable(gateway.url, { callbacks });
    kill();
    await until(() => told.length === 3, "the new thread");
    await connection.close();
    expect(pathOf(told)).toMatch(/^CONNECTING>ACTIVE ACTIVE>RECONNECTING RECONNECTING>ACTIVE /);
    expect(told[1]?.problem).toMatch(/connection thread ended/);
  });

  it("a callback may close the connection in the middle of a change", async () => {
    const told: StateChange[] = [];
    let connection: Connection | undefined;
    const onStateChange = (change: StateChange): void => {
      told.push(change);
      if (change.to === "RECONNECTING") void connection?.close();
    };
    ({ connection } = await openTest(gateway.url, { callbacks: { onStateChange } }));
    (await gateway.peer()).socket.terminate();
    await connection.closed;
    expect(pathOf(told)).toBe("CONNECTING>ACTIVE ACTIVE>RECONNECTING RECONNECTING>CLOSING CLOSING>CLOSED");
  });

  it.each<[string, () => unknown]>([
    ["throws", fail],
    ["returns a promise that rejects", () => Promise.reject(broken())],
    ["returns something thenable that rejects", () => thenable({ value: (_: unknown, no: Reject) => no(broken()) })],
    ["returns something whose `then` throws", () => thenable({ get: fail })],
    ["never settles", () => new Promise(() => {})],
  ])("a callback that %s is logged and changes nothing", async (what, onStateChange) => {
    const { calls, strategy } = manualStrategy();
    const { connection, logs } = await openTest(gateway.url, { strategy, callbacks: { onStateChange } });
    gateway.dispatch(await gateway.peer());
    await until(() => calls.length === 1, "the call");
    calls[0]?.result.resolve(done());
    await until(() => gateway.peers[0]?.of("WORKER_REPLY")[0], "the reply");
    await connection.close();
    // A promise is seen to reject a little later.
    await new Promise((resolve) => setImmediate(resolve));
    const failed = logs.filter(({ data }) => (data as { code?: string } | undefined)?.code === "LISTENER_FAILED");
    expect(failed).toHaveLength(what === "never settles" ? 0 : 3);
    for (const { level, message } of failed) {
      expect({ level, message }).toEqual({
        level: "error",
        message: "The callback onStateChange failed: out of metrics",
      });
    }
  });

  it("connect() refuses callbacks that are no functions", async () => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url });
    const apps = [{ client, functions: [] }];
    for (const name of ["onStateChange", "onStall"]) {
      await expect(connect({ apps, [name]: "log" })).rejects.toMatchObject({
        code: "OPTION_INVALID",
        message: `The option \`${name}\` must be a function, not "log".`,
      });
    }
  });
});

describe("onStall and holdfast:stall", () => {
  it("a main thread that was blocked is told of it afterwards, once, with whose code ran and how long", async () => {
    const told: StallMessage[] = [];
    const published = collect("holdfast:stall");
    const { calls, strategy } = manualStrategy();
    const stall = { thresholdMs: 200, maxStallMs: null, noStack: "tests do not ask for it." };
    const { connection } = await openTest(gateway.url, {
      strategy,
      config: { stall },
      callbacks: { onStall: (message) => told.push(message) },
    });
    const { requestId, runId } = gateway.dispatch(await gateway.peer());
    await until(() => calls.length === 1, "the call");
    const long = (): StallMessage[] => told.filter(({ stalledMs }) => stalledMs >= 2_000);
    // On a machine that is very busy the time may be counted as several shorter stalls: then once more.
    while (long().length === 0) {
      const before = told.length;
      const endMs = performance.now() + 2_500;
      while (performance.now() < endMs);
      await until(() => told.length > before, "a stall");
    }
    calls[0]?.result.resolve(done());
    await connection.close();
    expect(long()).toMatchObject([
      { instanceId: "instance", execution: { requestId, runId, functionSlug: "app-fn" }, foundBy: "only-request" },
    ]);
    expect(published).toEqual(told);
  });
});

describe("holdfast:lease", () => {
  it("extensions of a lease, its confirmation after a lost connection and its loss are told", async () => {
    const leases = collect("holdfast:lease");
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy });
    const peer = await gateway.peer();
    const { requestId, runId } = gateway.dispatch(peer);
    await until(() => calls.length === 1, "the call");
    await until(() => leases.some(({ type }) => type === "extended"), "an extension");
    peer.socket.terminate();
    await until(() => leases.some(({ type }) => type === "confirmed"), "the confirmation");
    gateway.script.extendLeases = false;
    await until(() => calls[0]?.signal.aborted, "the loss");
    calls[0]?.result.resolve({ ...done(), stale: true });
    await connection.close();
    const subject = { instanceId: "instance", requestId, runId, functionSlug: "app-fn" };
    for (const lease of leases) expect(lease).toMatchObject(subject);
    const order = leases.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
    expect(order.join(" ")).toMatch(/^extended confirmed( extended)? lost$/);
    expect(leases.at(-1)?.leaseId).toBeNull();
    expect(leases[0]?.leaseId).toMatch(/^lease-/);
  });
});
