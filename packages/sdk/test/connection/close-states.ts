import { type Deferred, deferred } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import { expect } from "vitest";
import type { Connection } from "../../src/connection/main/connection.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { createRegistry } from "../../src/functions/registry.ts";
import { StillClock } from "../execution/engine.ts";
import { client } from "../execution/support.ts";
import {
  done,
  type ManualCall,
  manualStrategy,
  type OpenChanges,
  type Opened,
  openTest,
  requestFor,
} from "./harness.ts";
import { type Killable, openKillable } from "./killable.ts";
import type { GatewayPeer, TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

/** The states in which the matrix of `close-matrix.test.ts` closes a connection. */

export interface World {
  readonly gateway: TestGateway;
  /** Given to every connection: deadline, signals, abort. */
  readonly changes: OpenChanges;
  /** Where the connection's log goes, also when it never becomes one. */
  readonly logs: Opened["logs"];
}

/** A connection that is in its state. */
export interface Staged {
  /** Rejects when connect() was never done. */
  readonly connection: Promise<Connection>;
  /** Right after close() began. */
  readonly during?: () => Promise<void> | void;
  /** What must have become of the work, once it is closed. */
  readonly check?: () => void;
}

export interface CloseState {
  readonly name: string;
  /** connect() has not returned: there is nothing yet to call close() on. */
  readonly early?: true;
  readonly ends?: "FAILED";
  /** Something is delivered while it closes. */
  readonly delivers?: true;
  /** Main has to end the thread, which does not end by itself. */
  readonly hangs?: true;
  readonly stage: (world: World) => Promise<Staged>;
}

const PATIENT = { baseMs: 3_600_000, factor: 1, maxMs: 3_600_000, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 };
const OUTBOX = { maxCount: 100, maxBytes: 1e6, ackMs: 3_600_000 };

const early = (opening: Promise<Opened>): Staged => {
  opening.catch(() => {});
  return { connection: opening.then(({ connection }) => connection) };
};

interface Working {
  readonly opened: Opened;
  readonly peer: GatewayPeer;
  readonly call: ManualCall;
  readonly requestId: string;
  readonly never: Deferred<void>;
}

/** A ready connection with one request whose handler runs. */
async function working({ gateway, changes }: World, more: OpenChanges = {}): Promise<Working> {
  const { calls, strategy } = manualStrategy();
  const opened = await openTest(gateway.url, {
    ...changes,
    strategy,
    ...more,
    config: { outbox: OUTBOX, ...more.config },
  });
  return { opened, ...(await oneCall(gateway, calls)) };
}

async function killable({ gateway, changes }: World): Promise<Working & { readonly opened: Killable }> {
  const { calls, strategy } = manualStrategy();
  const more = { strategy, respawn: PATIENT, config: { outbox: OUTBOX } };
  const opened = await openKillable(gateway.url, { ...changes, ...more });
  return { opened, ...(await oneCall(gateway, calls)) };
}

async function oneCall(gateway: TestGateway, calls: ManualCall[]) {
  const peer = await gateway.peer();
  const { requestId } = gateway.dispatch(peer);
  const call = await until(() => calls[0], "the call");
  return { peer, call, requestId, never: deferred<void>() };
}

const nacked = (gateway: TestGateway, requestId: string): boolean =>
  gateway.peers
    .flatMap((peer) => peer.of("WORKER_REQUEST_NACK"))
    .some((nack) => nack.requestId === requestId && nack.reason === "DRAIN_TIMEOUT");
const delivered = (gateway: TestGateway, requestId: string): boolean =>
  [...gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")), ...gateway.flushed].some(
    (reply) => reply.requestId === requestId,
  );
const handedBack = (gateway: TestGateway, { requestId, call }: Working): Pick<Staged, "check"> => ({
  check: () => {
    expect(nacked(gateway, requestId), "the work was handed back").toBe(true);
    expect(call.signal.reason).toMatchObject({ code: "DRAIN_TIMEOUT" });
    call.result.resolve(done());
  },
});

const EARLY: readonly CloseState[] = [
  {
    name: "connecting: the start call is not answered",
    early: true,
    stage: async ({ gateway, changes }) => {
      gateway.script.holdStart = true;
      const staged = early(openTest(gateway.url, changes));
      await until(() => gateway.starts.length > 0, "the start call");
      return staged;
    },
  },
  {
    name: "in the handshake: the gateway says nothing",
    early: true,
    stage: async ({ gateway, changes }) => {
      gateway.script.first = () => {};
      const staged = early(openTest(gateway.url, changes));
      await until(() => gateway.peers[0], "the socket");
      return staged;
    },
  },
  {
    name: "in the handshake: the gateway does not become ready",
    early: true,
    stage: async ({ gateway, changes }) => {
      gateway.script.welcome = () => {};
      const staged = early(openTest(gateway.url, changes));
      await until(() => gateway.peers[0]?.connect, "the handshake");
      return staged;
    },
  },
  {
    name: "in backoff before the first connection",
    early: true,
    stage: async ({ gateway, changes, logs }) => {
      gateway.script.startStatus = () => 500;
      const reconnect = { baseMs: 3_600_000, factor: 1, maxMs: 3_600_000, jitter: 0 };
      const staged = early(openTest(gateway.url, { ...changes, config: { reconnect } }));
      await until(() => logs.some(({ message }) => message.includes("500")), "the first failure");
      return staged;
    },
  },
  {
    name: "the first thread died, the next one is waited for",
    early: true,
    stage: async ({ gateway, changes, logs }) => {
      const script = { text: "throw new Error('broken')" };
      const staged = early(openTest(gateway.url, { ...changes, script, respawn: PATIENT }));
      await until(() => logs.some(({ message }) => message.includes("broken")), "the crash");
      return staged;
    },
  },
  {
    name: "the thread hangs while it starts",
    early: true,
    hangs: true,
    stage: async ({ gateway, changes }) => early(openTest(gateway.url, { ...changes, script: { text: "for (;;);" } })),
  },
];

const CONNECTED: readonly CloseState[] = [
  {
    name: "active, with nothing to do",
    stage: async ({ gateway, changes }) => {
      const { connection } = await openTest(gateway.url, changes);
      return { connection: Promise.resolve(connection) };
    },
  },
  {
    name: "active, with work that ends",
    delivers: true,
    stage: async (world) => {
      const { opened, call, requestId } = await working(world);
      return {
        connection: Promise.resolve(opened.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "active, with a handler that never returns",
    stage: async (world) => {
      const work = await working(world);
      return { connection: Promise.resolve(work.opened.connection), ...handedBack(world.gateway, work) };
    },
  },
  {
    name: "active, with an unacknowledged reply",
    delivers: true,
    stage: async (world) => {
      world.gateway.script.ackReplies = false;
      const { opened, peer, call, requestId } = await working(world);
      call.result.resolve(done());
      await until(() => peer.of("WORKER_REPLY")[0], "the reply");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => expect(world.gateway.flushed.map((reply) => reply.requestId)).toEqual([requestId]),
      };
    },
  },
  {
    name: "active, with an unanswered checkpoint",
    stage: async (world) => {
      world.gateway.script.ackCheckpoints = null;
      const work = await working(world);
      void work.call.port.checkpoint(encodeJsonBytes([]));
      await until(() => work.peer.of("WORKER_CHECKPOINT")[0], "the checkpoint");
      return { connection: Promise.resolve(work.opened.connection), ...handedBack(world.gateway, work) };
    },
  },
  {
    name: "active, with a reply that repeats an unanswered checkpoint",
    delivers: true,
    stage: async (world) => {
      world.gateway.script.ackCheckpoints = null;
      const { opened, peer, call, requestId } = await working(world);
      void call.port.checkpoint(encodeJsonBytes([]));
      await until(() => peer.of("WORKER_CHECKPOINT")[0], "the checkpoint");
      return {
        connection: Promise.resolve(opened.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "active, with a handler that is ahead of what is stored",
    stage: async ({ gateway, changes }) => {
      const extensions = ["checkpoint", "nack", "lookahead"] as const;
      Object.assign(gateway.script, { ackCheckpoints: null, extensions });
      const seen: unknown[] = [];
      const fn = client.createFunction({ id: "two", triggers: [] }, async ({ step }) => {
        seen.push(await step.run("a", () => "a"));
        await step.run("b", () => seen.push("b begins"));
      });
      const registry = createRegistry([{ client, functions: [fn] }]);
      const strategy = createMainThreadStrategy(registry, { clock: new StillClock() });
      const apps = [{ appName: client.id, functions: encodeJsonBytes([]) }];
      const config = { outbox: OUTBOX, extensions, apps };
      const { connection } = await openTest(gateway.url, { ...changes, strategy, config });
      const peer = await gateway.peer();
      const { requestId } = gateway.dispatch(peer, requestFor(fn, client.id));
      await until(() => peer.of("WORKER_CHECKPOINT")[0], "the checkpoint");
      return {
        connection: Promise.resolve(connection),
        check: () => {
          expect(nacked(gateway, requestId), "the work was handed back").toBe(true);
          expect(delivered(gateway, requestId), "a reply was sent").toBe(false);
          expect(seen).toEqual(["a"]);
        },
      };
    },
  },
  {
    name: "active, and the gateway answers no close frame",
    stage: async (world) => {
      const { connection } = await openTest(world.gateway.url, world.changes);
      const peer = await world.gateway.peer();
      return { connection: Promise.resolve(connection), during: () => peer.socket.pause() };
    },
  },
];

const CUT_OFF: readonly CloseState[] = [
  {
    name: "in backoff after a lost connection, with work that ends",
    delivers: true,
    stage: async (world) => {
      const { opened, peer, call, requestId } = await working(world);
      world.gateway.script.startStatus = () => 503;
      peer.socket.terminate();
      await until(() => opened.connection.state === "RECONNECTING", "the state");
      return {
        connection: Promise.resolve(opened.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(world.gateway.flushed.map((reply) => reply.requestId)).toEqual([requestId]),
      };
    },
  },
  {
    name: "reconnecting, and the start call is not answered",
    stage: async (world) => {
      const { connection } = await openTest(world.gateway.url, world.changes);
      world.gateway.script.holdStart = true;
      (await world.gateway.peer()).socket.terminate();
      await until(() => world.gateway.starts.length === 2, "the start call");
      return { connection: Promise.resolve(connection) };
    },
  },
  {
    name: "reconnecting, in a handshake that hangs, with a handler that never returns",
    stage: async (world) => {
      const { opened, peer, call } = await working(world);
      world.gateway.script.welcome = () => {};
      peer.socket.terminate();
      await until(() => world.gateway.peers[1]?.connect, "the handshake");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => {
          expect(call.signal.reason).toMatchObject({ code: "DRAIN_TIMEOUT" });
          call.result.resolve(done());
        },
      };
    },
  },
  {
    name: "on a gateway that drains, with a handler that never returns",
    stage: async (world) => {
      const work = await working(world);
      world.gateway.script.welcome = () => {};
      work.peer.send({ kind: "GATEWAY_CLOSING" });
      await until(() => world.gateway.peers[1]?.connect, "the handshake with the next one");
      return { connection: Promise.resolve(work.opened.connection), ...handedBack(world.gateway, work) };
    },
  },
  {
    name: "the gateway is gone, with a reply that no one has",
    stage: async (world) => {
      const { opened, call } = await working(world);
      await world.gateway.close();
      await until(() => opened.connection.state === "RECONNECTING", "the state");
      call.result.resolve(done());
      return {
        connection: Promise.resolve(opened.connection),
        check: () => expect(world.logs.some(({ message }) => message.includes("could not be delivered"))).toBe(true),
      };
    },
  },
];

const THREADLESS: readonly CloseState[] = [
  {
    name: "the thread is dead, with nothing to do",
    stage: async ({ gateway, changes }) => {
      const { connection, kill } = await openKillable(gateway.url, { ...changes, respawn: PATIENT });
      await gateway.peer();
      kill();
      await until(() => !connection.debugState().threadAlive, "the death");
      return { connection: Promise.resolve(connection) };
    },
  },
  {
    name: "the thread is dead, with a handler that never returns",
    stage: async (world) => {
      const { opened, call } = await killable(world);
      opened.kill();
      await until(() => !opened.connection.debugState().threadAlive, "the death");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => {
          expect(call.signal.reason).toMatchObject({ code: "DRAIN_TIMEOUT" });
          call.result.resolve(done());
        },
      };
    },
  },
  {
    name: "the thread is dead, and a reply was made since",
    delivers: true,
    stage: async (world) => {
      const { opened, call, requestId } = await killable(world);
      opened.kill();
      await until(() => !opened.connection.debugState().threadAlive, "the death");
      call.result.resolve(done());
      return {
        connection: Promise.resolve(opened.connection),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "the next thread is starting, with work that ends",
    delivers: true,
    stage: async ({ gateway, changes }) => {
      const { calls, strategy } = manualStrategy();
      const respawn = { ...PATIENT, baseMs: 1, maxMs: 1 };
      const thread = await openKillable(gateway.url, { ...changes, strategy, respawn });
      const { call, requestId } = await oneCall(gateway, calls);
      thread.kill();
      await until(
        () => thread.connection.debugState().crashes === 1 && thread.connection.debugState().threadAlive,
        "it",
      );
      return {
        connection: Promise.resolve(thread.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(delivered(gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "the thread hangs",
    hangs: true,
    stage: async (world) => {
      const { opened, call } = await killable(world);
      opened.kill("hang");
      await until(() => opened.hangs, "a thread that hangs");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => {
          expect(call.signal.aborted).toBe(true);
          call.result.resolve(done());
        },
      };
    },
  },
  {
    name: "the crash cap was reached",
    ends: "FAILED",
    stage: async ({ gateway, changes }) => {
      const respawn = { ...PATIENT, baseMs: 1, maxMs: 1, maxCrashes: 1 };
      const { connection, kill } = await openKillable(gateway.url, { ...changes, respawn });
      for (const count of [1, 2]) {
        await gateway.peer(count);
        kill();
        await until(() => connection.debugState().crashes === count, `crash ${count}`);
      }
      await until(() => connection.state === "FAILED", "the state");
      return { connection: Promise.resolve(connection) };
    },
  },
];

export const CLOSE_STATES: readonly CloseState[] = [...EARLY, ...CONNECTED, ...CUT_OFF, ...THREADLESS];
