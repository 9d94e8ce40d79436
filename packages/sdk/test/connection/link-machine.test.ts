import { backoffDelayMs, seededRandom } from "@holdfast/core";
import { EXTENSIONS, type Extension, type GatewayFrame, type StartResponse } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { createLinkStep, LINK_START } from "../../src/connection/machines/link-machine.ts";
import type { LinkEffect, LinkEvent, LinkState } from "../../src/connection/machines/link-types.ts";
import type { RequiredExtension } from "../../src/connection/shared/serializable-config.ts";

const start = (group = "g", id = "c"): StartResponse => ({
  connectionId: id,
  gatewayEndpoint: "ws://x",
  gatewayGroup: group,
  sessionToken: "",
  syncToken: "",
});
const readyFor = (extensions: readonly Extension[]): GatewayFrame => ({
  kind: "GATEWAY_CONNECTION_READY",
  heartbeatInterval: "10s",
  extendLeaseInterval: "5s",
  statusInterval: "0s",
  extensions,
});
const ready = readyFor(["checkpoint", "stall", "partitions"]);
const plainReady = readyFor([]);
const hello: GatewayFrame = { kind: "GATEWAY_HELLO" };
const closing: GatewayFrame = { kind: "GATEWAY_CLOSING" };

/** Steps a machine and keeps book of everything it did. */
function machine(
  hasFallbackKey = false,
  extensions: readonly Extension[] = EXTENSIONS,
  required: readonly RequiredExtension[] = [],
  hasPartitions = false,
) {
  const step = createLinkStep({ hasFallbackKey, extensions, required, hasPartitions });
  let state: LinkState = LINK_START;
  const effects: LinkEffect[] = [];
  return {
    effects,
    get state() {
      return state;
    },
    send(event: LinkEvent): readonly LinkEffect[] {
      const [next, made] = step(state, event);
      state = next;
      effects.push(...made);
      return made;
    },
    get open() {
      if (state.phase !== "open") throw new Error(`It is ${state.phase}.`);
      return state;
    },
    /** From a start under way to a ready connection; gives its generation. */
    becomeReady(group = "g", frame = ready): number {
      const { attempt } = this.open;
      if (attempt.step === "waiting") {
        this.send({ type: "TIMER", timer: "backoff", generation: attempt.generation });
      }
      const { attempt: starting } = this.open;
      if (starting.step !== "starting") throw new Error(`The attempt is at ${starting.step}.`);
      const { generation } = starting;
      this.send({ type: "START_OK", generation, start: start(group) });
      this.send({ type: "FRAME", generation, frame: hello });
      this.send({ type: "FRAME", generation, frame });
      return generation;
    },
  };
}

const kinds = (effects: readonly LinkEffect[]): string[] => effects.map((effect) => effect.do);
const sent = (effects: readonly LinkEffect[]): string[] =>
  effects.flatMap((effect) => (effect.do === "SEND" ? [effect.kind] : []));

describe("Link machine", () => {
  it("the link connects in the order start, open, hello, connect, ready", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    link.becomeReady();
    expect(kinds(link.effects).slice(0, 4)).toEqual(["START", "OPEN", "SET_TIMER", "SEND_CONNECT"]);
    expect(sent(link.effects)).toEqual(["WORKER_READY", "WORKER_HEARTBEAT"]);
  });

  it("LINK-11: the link pauses while main stalls, also on new connections, and becomes ready afterwards", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const first = link.becomeReady();
    expect(sent(link.send({ type: "STALL", stalled: true }))).toEqual(["WORKER_PAUSE"]);
    expect(link.send({ type: "STALL", stalled: true })).toEqual([]);
    link.send({ type: "SOCKET_CLOSED", generation: first, code: 1006, reason: "" });
    const before = link.effects.length;
    link.becomeReady();
    expect(sent(link.effects.slice(before))).toEqual(["WORKER_PAUSE", "WORKER_HEARTBEAT"]);
    expect(sent(link.send({ type: "STALL", stalled: false }))).toEqual(["WORKER_READY"]);
  });

  it("LINK-14: where partitions were agreed on a stall withholds only what runs on main, and is repeated like any", () => {
    const link = machine(false, EXTENSIONS, [], true);
    link.send({ type: "CONNECT", resumed: false });
    const first = link.becomeReady();
    expect(sent(link.send({ type: "STALL", stalled: true }))).toEqual(["WORKER_MAIN_PAUSE"]);
    link.send({ type: "FRAME", generation: first, frame: { kind: "GATEWAY_HEARTBEAT" } });
    const beat = link.send({ type: "TIMER", generation: first, timer: "heartbeat" });
    expect(sent(beat)).toEqual(["WORKER_MAIN_PAUSE", "WORKER_HEARTBEAT"]);
    link.send({ type: "SOCKET_CLOSED", generation: first, code: 1006, reason: "" });
    const before = link.effects.length;
    const second = link.becomeReady();
    const announced = ["WORKER_READY", "WORKER_MAIN_PAUSE", "WORKER_HEARTBEAT"];
    expect(sent(link.effects.slice(before))).toEqual(announced);
    expect(sent(link.send({ type: "STALL", stalled: false }))).toEqual(["WORKER_MAIN_READY"]);
    link.send({ type: "STALL", stalled: true });
    // A gateway that knows no partitions would withhold what goes on, too.
    link.send({ type: "SOCKET_CLOSED", generation: second, code: 1006, reason: "" });
    const middle = link.effects.length;
    link.becomeReady("g", readyFor(["checkpoint", "stall"]));
    expect(sent(link.effects.slice(middle))).toEqual(["WORKER_READY", "WORKER_HEARTBEAT"]);
    expect(sent(link.send({ type: "SHUTDOWN" }))).toEqual(["WORKER_PAUSE"]);
    expect(link.send({ type: "STALL", stalled: false })).toEqual([]);
  });

  it("LINK-13: heartbeats repeat what a connection that has stalled announced last, except during shutdown", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const generation = link.becomeReady();
    const beat = (): readonly unknown[] => {
      link.send({ type: "FRAME", generation, frame: { kind: "GATEWAY_HEARTBEAT" } });
      return sent(link.send({ type: "TIMER", generation, timer: "heartbeat" }));
    };
    expect(beat()).toEqual(["WORKER_HEARTBEAT"]);
    link.send({ type: "STALL", stalled: true });
    expect(beat()).toEqual(["WORKER_PAUSE", "WORKER_HEARTBEAT"]);
    link.send({ type: "STALL", stalled: false });
    expect(beat()).toEqual(["WORKER_READY", "WORKER_HEARTBEAT"]);
    expect(beat()).toEqual(["WORKER_READY", "WORKER_HEARTBEAT"]);
    link.send({ type: "SHUTDOWN" });
    expect(beat()).toEqual(["WORKER_HEARTBEAT"]);
  });

  it("LINK-12: the link reports no stall to a plain gateway, for which a pause is final", () => {
    for (const [frame, offered] of [
      [plainReady, EXTENSIONS],
      [ready, []],
    ] as const) {
      const link = machine(false, offered);
      link.send({ type: "CONNECT", resumed: false });
      const first = link.becomeReady("g", frame);
      expect(sent(link.send({ type: "STALL", stalled: true }))).toEqual([]);
      link.send({ type: "SOCKET_CLOSED", generation: first, code: 1006, reason: "" });
      const before = link.effects.length;
      link.becomeReady("g", frame);
      expect(sent(link.effects.slice(before))).toEqual(["WORKER_READY", "WORKER_HEARTBEAT"]);
      expect(sent(link.send({ type: "STALL", stalled: false }))).toEqual([]);
      expect(sent(link.send({ type: "SHUTDOWN" }))).toEqual(["WORKER_PAUSE"]);
    }
  });

  it("LINK-11, LINK-12: a stall continues across a move between plain and extended gateways", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const first = link.becomeReady();
    link.send({ type: "STALL", stalled: true });
    const closed = { type: "SOCKET_CLOSED", code: 1006, reason: "" } as const;
    link.send({ ...closed, generation: first });
    const second = link.becomeReady("g", plainReady);
    expect(sent(link.effects).at(-2)).toBe("WORKER_READY");
    link.send({ ...closed, generation: second });
    link.becomeReady();
    expect(sent(link.effects).at(-2)).toBe("WORKER_PAUSE");
    expect(sent(link.send({ type: "STALL", stalled: false }))).toEqual(["WORKER_READY"]);
  });

  it("LINK-3, LINK-11: a stall that ends during shutdown does not make the link ready", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    link.becomeReady();
    link.send({ type: "STALL", stalled: true });
    expect(sent(link.send({ type: "SHUTDOWN" }))).toEqual(["WORKER_PAUSE"]);
    expect(link.send({ type: "STALL", stalled: false })).toEqual([]);
  });

  it("LINK-5: the socket of a peer that left two heartbeats unanswered is destroyed", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const generation = link.becomeReady();
    const beat = (): readonly LinkEffect[] => link.send({ type: "TIMER", timer: "heartbeat", generation });
    expect(sent(beat())).toEqual(["WORKER_HEARTBEAT"]);
    link.send({ type: "FRAME", generation, frame: { kind: "GATEWAY_HEARTBEAT" } });
    expect(sent(beat())).toEqual(["WORKER_HEARTBEAT"]);
    expect(sent(beat())).toEqual(["WORKER_HEARTBEAT"]);
    expect(kinds(beat())).toEqual(expect.arrayContaining(["DESTROY_SOCKET", "LINK_DOWN", "WAIT"]));
  });

  it("LINK-4: a draining connection stays until its replacement is ready, and a second CLOSING changes nothing", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const old = link.becomeReady();
    expect(kinds(link.send({ type: "FRAME", generation: old, frame: closing }))).toContain("WAIT");
    expect(link.send({ type: "FRAME", generation: old, frame: closing })).toEqual([]);
    expect(link.open.active).toMatchObject({ generation: old, draining: true });
    const next = link.becomeReady("h");
    expect(link.open.active).toMatchObject({ generation: next, draining: false });
    expect(link.effects).toContainEqual({
      do: "CLOSE_SOCKET",
      generation: old,
      code: 1000,
      reason: "GATEWAY_DRAINING",
    });
    expect(link.send({ type: "FRAME", generation: old, frame: closing })).toEqual([]);
  });

  it("LINK-4: once a draining gateway has left, the next attempt does not wait as long as the ones before", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const old = link.becomeReady();
    link.send({ type: "TIMER", timer: "uptime", generation: old });
    link.send({ type: "FRAME", generation: old, frame: closing });
    const generationOf = (): number => (link.open.attempt.step === "none" ? -1 : link.open.attempt.generation);
    for (const failures of [2, 3, 4]) {
      link.send({ type: "TIMER", timer: "backoff", generation: generationOf() });
      const message = "GATEWAY_CLOSING";
      link.send({ type: "START_FAILED", generation: generationOf(), message, unauthorized: false });
      expect(link.open.memory.failures).toBe(failures);
    }
    const waiting = generationOf();
    const after = link.send({ type: "SOCKET_CLOSED", generation: old, code: 1001, reason: "" });
    expect(after).toContainEqual({ do: "CANCEL_TIMERS", generation: waiting });
    expect(after).toContainEqual({ do: "WAIT", generation: generationOf(), failures: 1 });
    expect(generationOf()).not.toBe(waiting);
  });

  it("LINK-6: only a stable connection resets the failure count", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    for (const failures of [1, 2, 3]) {
      const generation = link.becomeReady();
      link.send({ type: "SOCKET_CLOSED", generation, code: 1006, reason: "" });
      expect(link.open.memory.failures).toBe(failures);
    }
    const generation = link.becomeReady();
    link.send({ type: "TIMER", timer: "uptime", generation });
    link.send({ type: "SOCKET_CLOSED", generation, code: 1006, reason: "" });
    expect(link.open.memory.failures).toBe(1);
  });

  it("LINK-7: the group of a broken connection is excluded until a connection of that group is ready", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const generation = link.becomeReady("bad");
    link.send({ type: "SOCKET_CLOSED", generation, code: 1006, reason: "" });
    expect(link.open.memory.excluded).toEqual(["bad"]);
    link.becomeReady("bad");
    expect(link.open.memory.excluded).toEqual([]);
  });

  it("LINK-8, LINK-9: a rejected key is followed by the other; if all are rejected, only the first connect fails", () => {
    const refused = (link: ReturnType<typeof machine>): readonly LinkEffect[] => {
      const { attempt } = link.open;
      const generation = attempt.step === "none" ? -1 : attempt.generation;
      return link.send({ type: "START_FAILED", generation, message: "401", unauthorized: true });
    };
    const fresh = machine(true);
    fresh.send({ type: "CONNECT", resumed: false });
    expect(refused(fresh)).toContainEqual({ do: "START", generation: 2, key: "fallback", excludeGroups: [] });
    expect(kinds(refused(fresh))).toContain("REFUSED");
    expect(fresh.state.phase).toBe("closed");
    const resumed = machine(true);
    resumed.send({ type: "CONNECT", resumed: true });
    refused(resumed);
    expect(kinds(refused(resumed))).toEqual(["LOG", "WAIT", "STATE_CHANGED"]);
  });

  it("LINK-6: a gateway that accepts and drops at once sees few connections, and never many workers at the same time", () => {
    const policy = { baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0.5 };
    const play = (seed: number, dropAfterMs: number, hours: number) => {
      const link = machine();
      const random = seededRandom(seed);
      const connectedAt: number[] = [];
      link.send({ type: "CONNECT", resumed: false });
      for (let nowMs = 0; nowMs < hours * 3_600_000; ) {
        const generation = link.becomeReady();
        connectedAt.push(nowMs);
        nowMs += dropAfterMs;
        if (dropAfterMs >= 10_000) link.send({ type: "TIMER", timer: "uptime", generation });
        const made = link.send({ type: "SOCKET_CLOSED", generation, code: 1006, reason: "" });
        const wait = made.find((effect) => effect.do === "WAIT");
        if (wait?.do !== "WAIT") throw new Error("It does not wait.");
        nowMs += backoffDelayMs(policy, wait.failures, random);
      }
      return connectedAt;
    };
    // Nine waits up to the cap of 30 s, then one about every 22 s.
    expect(play(1, 0, 1).length).toBeLessThan(3_600 / 15 + 10);
    expect(play(1, 9_999, 1).length).toBeLessThan(3_600 / 20 + 10);
    // One that held for the minimum uptime is followed by the shortest wait again.
    expect(play(1, 60_000, 1).length).toBeGreaterThan(55);
    // A hundred workers that lost the same gateway come back spread over the whole wait.
    const second = Array.from({ length: 100 }, (_, seed) => play(seed, 0, 0.01)[1]!);
    expect(new Set(second).size).toBeGreaterThan(50);
    expect(Math.max(...second) - Math.min(...second)).toBeGreaterThan(60);
  });

  it("the link waits at least as long as the gateway asked for", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: false });
    const failed = { type: "START_FAILED", generation: 1, message: "429", unauthorized: false } as const;
    expect(link.send({ ...failed, retryAfterMs: 7_000 })).toContainEqual({
      do: "WAIT",
      generation: 2,
      failures: 1,
      atLeastMs: 7_000,
    });
  });

  it("what goes on failing for the same reason is said ever more rarely, another reason at once", () => {
    const link = machine();
    link.send({ type: "CONNECT", resumed: true });
    const fail = (message: string): string | undefined => {
      const { attempt } = link.open;
      if (attempt.step === "waiting") link.send({ type: "TIMER", timer: "backoff", generation: attempt.generation });
      const { generation } = link.open.memory;
      const effects = link.send({ type: "START_FAILED", generation, message, unauthorized: false });
      return effects.flatMap((effect) => (effect.do === "LOG" ? [effect.level] : []))[0];
    };
    const levels = Array.from({ length: 9 }, () => fail("refused"));
    expect(levels).toEqual(["warn", "warn", "debug", "warn", "debug", "debug", "debug", "warn", "debug"]);
    expect(fail("503")).toBe("warn");
  });

  const generations = fc.integer({ min: 0, max: 12 });
  const anyFrame = fc.constantFrom<GatewayFrame>(
    hello,
    ready,
    closing,
    { kind: "GATEWAY_HEARTBEAT" },
    {
      kind: "SYNC_FAILED",
      code: "x",
      message: "y",
    },
  );
  const anyEvent: fc.Arbitrary<LinkEvent> = fc.oneof(
    fc.record({ type: fc.constant("CONNECT" as const), resumed: fc.boolean() }),
    fc.record({ type: fc.constant("START_OK" as const), generation: generations, start: fc.constant(start()) }),
    fc.record({
      type: fc.constant("START_FAILED" as const),
      generation: generations,
      message: fc.constant("no"),
      unauthorized: fc.boolean(),
    }),
    fc.record({ type: fc.constant("FRAME" as const), generation: generations, frame: anyFrame }),
    fc.record({ type: fc.constant("BAD_FRAME" as const), generation: generations, message: fc.constant("bad") }),
    fc.record({
      type: fc.constant("SOCKET_CLOSED" as const),
      generation: generations,
      code: fc.constantFrom(1000, 1006, 1008),
      reason: fc.constantFrom("", "connect_worker_hello_timeout"),
    }),
    fc.record({
      type: fc.constant("TIMER" as const),
      timer: fc.constantFrom("backoff" as const, "open" as const, "heartbeat" as const, "uptime" as const),
      generation: generations,
    }),
    fc.constant<LinkEvent>({ type: "SHUTDOWN" }),
    fc.record({ type: fc.constant("STALL" as const), stalled: fc.boolean() }),
  );

  /** Most events are made to hit the present attempt or connection, many to bring it on, or nothing would ever happen. */
  const aims = ["onward", "onward", "attempt", "active", "as it is"] as const;
  const aimed = fc.array(fc.tuple(anyEvent, fc.constantFrom(...aims)), { maxLength: 120 });

  /** What a well-behaved gateway would do next. */
  function onward({ attempt }: Extract<LinkState, { phase: "open" }>): LinkEvent | undefined {
    switch (attempt.step) {
      case "none":
        return undefined;
      case "waiting":
        return { type: "TIMER", timer: "backoff", generation: attempt.generation };
      case "starting":
        return { type: "START_OK", generation: attempt.generation, start: start() };
      case "opening": {
        const welcome = attempt.generation % 2 === 0 ? ready : plainReady;
        const frame = attempt.handshake.phase === "hello" ? hello : welcome;
        return { type: "FRAME", generation: attempt.generation, frame };
      }
    }
  }

  function play(events: readonly (readonly [LinkEvent, string])[], hasFallbackKey: boolean, hasPartitions = false) {
    const link = machine(hasFallbackKey, EXTENSIONS, [], hasPartitions);
    link.send({ type: "CONNECT", resumed: true });
    const opened = new Set<number>();
    const left = new Set<number>();
    let paused = false;
    for (const [event, aim] of events) {
      if (link.state.phase !== "open") break;
      const { attempt, active } = link.state;
      const target = aim === "active" ? active?.generation : attempt.step === "none" ? undefined : attempt.generation;
      const aimedAt =
        aim !== "as it is" && target !== undefined && "generation" in event ? { ...event, generation: target } : event;
      const real = (aim === "onward" ? onward(link.state) : undefined) ?? aimedAt;
      const before = link.state;
      const current = [active?.generation, attempt.step === "none" ? undefined : attempt.generation];
      const made = link.send(real);
      if ("generation" in real && !current.includes(real.generation)) {
        expect(made, "LINK-1").toEqual([]);
        expect(link.state, "LINK-1").toBe(before);
      }
      if (real.type === "SOCKET_CLOSED") left.add(real.generation);
      for (const effect of made) {
        if (effect.do === "OPEN") {
          expect(opened.has(effect.generation), "LINK-1").toBe(false);
          opened.add(effect.generation);
        }
        if (effect.do === "CLOSE_SOCKET" || effect.do === "DESTROY_SOCKET") left.add(effect.generation);
      }
      paused ||= real.type === "SHUTDOWN";
      if (paused) expect(sent(made), "LINK-3").not.toContain("WORKER_READY");
      const { state } = link;
      if (state.phase !== "open" || sent(made).length === 0) continue;
      const pauses = state.active?.pauses ?? "nothing";
      if (pauses !== "all" && !paused) expect(sent(made), "LINK-12, LINK-14").not.toContain("WORKER_PAUSE");
      if (pauses !== "main") expect(sent(made).join(), "LINK-14").not.toContain("WORKER_MAIN");
      if (pauses === "all" && state.stalled) expect(sent(made), "LINK-11").not.toContain("WORKER_READY");
    }
    return { link, opened, left };
  }

  it("LINK-1, LINK-2, LINK-3, LINK-11, LINK-12: the link rules hold for any sequence of events", () => {
    fc.assert(
      fc.property(aimed, fc.boolean(), fc.boolean(), (events, hasFallbackKey, hasPartitions) => {
        const { link, opened, left } = play(events, hasFallbackKey, hasPartitions);
        const { state } = link;
        const kept =
          state.phase === "open"
            ? [state.active?.generation, state.attempt.step === "opening" ? state.attempt.generation : undefined]
            : [];
        for (const generation of opened) {
          expect(left.has(generation) || kept.includes(generation), `LINK-2: socket ${generation}`).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it("LINK-10: FINISH closes every connection, and nothing happens afterwards", () => {
    fc.assert(
      fc.property(aimed, anyEvent, (events, after) => {
        const { link, opened, left } = play(events, false);
        const made = link.send({ type: "FINISH" });
        for (const effect of made) {
          expect(["CLOSE_SOCKET", "CANCEL_TIMERS", "ABORT_START", "STATE_CHANGED"]).toContain(effect.do);
          if (effect.do === "CLOSE_SOCKET") left.add(effect.generation);
        }
        for (const generation of opened) expect(left.has(generation)).toBe(true);
        expect(link.send(after)).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });

  it("LINK-6: the link never retries without the delay of its failure count", () => {
    fc.assert(
      fc.property(aimed, (events) => {
        const { link } = play(events, false);
        const starts = link.effects.filter((effect) => effect.do === "START").length;
        const waits = link.effects.filter((effect) => effect.do === "WAIT");
        expect(starts).toBeLessThanOrEqual(waits.length + 1);
        for (const wait of waits) if (wait.do === "WAIT") expect(wait.failures).toBeGreaterThan(0);
      }),
      { numRuns: runs(300) },
    );
    const policy = { baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0.5 };
    expect(backoffDelayMs(policy, 1, seededRandom(1))).toBeGreaterThan(0);
  });
});
