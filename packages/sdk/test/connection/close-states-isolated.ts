import { encodeJsonBytes } from "@holdfast/protocol";
import { expect } from "vitest";
import type { CloseState, World } from "./close-states.ts";
import {
  done,
  instantStrategy,
  type ManualCall,
  manualStrategy,
  type OpenChanges,
  type Opened,
  openTest,
} from "./harness.ts";
import { type Killable, openKillable } from "./killable.ts";
import { type PoolStandIn, poolStandIn } from "./pool-stand-in.ts";
import type { GatewayPeer, TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

/** The states of isolated requests in which the matrix of `close-matrix.test.ts` closes a connection. */

const PATIENT = { baseMs: 3_600_000, factor: 1, maxMs: 3_600_000, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 };
const OUTBOX = { maxCount: 100, maxBytes: 1e6, ackMs: 3_600_000 };
const CONFIG = { isolated: [{ appName: "app", functionSlug: "app-fn" }], outbox: OUTBOX };

interface Turn<Open extends Opened> {
  readonly opened: Open;
  readonly pool: PoolStandIn;
  readonly peer: GatewayPeer;
  readonly call: ManualCall;
  readonly requestId: string;
}

/** A connection with one isolated request in the one thread of its pool. */
async function turn<Open extends Opened>(
  { gateway, changes }: World,
  open: (url: string, changes: OpenChanges) => Promise<Open>,
  more: OpenChanges = {},
): Promise<Turn<Open>> {
  const { calls, strategy } = manualStrategy();
  const pool = poolStandIn(1, () => strategy);
  const opened = await open(gateway.url, { ...changes, strategy: instantStrategy, pool, config: CONFIG, ...more });
  const peer = await gateway.peer();
  const { requestId } = gateway.dispatch(peer);
  const call = await until(() => calls[0], "the turn");
  return { opened, pool, peer, call, requestId };
}

const killable = (world: World): Promise<Turn<Killable>> => turn(world, openKillable, { respawn: PATIENT });

const nacked = (gateway: TestGateway, requestId: string): boolean =>
  gateway.peers
    .flatMap((peer) => peer.of("WORKER_REQUEST_NACK"))
    .some((nack) => nack.requestId === requestId && nack.reason === "DRAIN_TIMEOUT");
const delivered = (gateway: TestGateway, requestId: string): boolean =>
  [...gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")), ...gateway.flushed].some(
    (reply) => reply.requestId === requestId,
  );

export const ISOLATED_CLOSE_STATES: readonly CloseState[] = [
  {
    name: "with a pool that has nothing to do",
    stage: async ({ gateway, changes }) => {
      const pool = poolStandIn(2, () => instantStrategy);
      const { connection } = await openTest(gateway.url, { ...changes, pool, config: CONFIG });
      return { connection: Promise.resolve(connection) };
    },
  },
  {
    name: "with an isolated turn that ends",
    delivers: true,
    stage: async (world) => {
      const { opened, call, requestId } = await turn(world, openTest);
      return {
        connection: Promise.resolve(opened.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "with an isolated turn that never ends",
    stage: async (world) => {
      const { opened, requestId } = await turn(world, openTest);
      return {
        connection: Promise.resolve(opened.connection),
        check: () => {
          expect(nacked(world.gateway, requestId), "the work was handed back").toBe(true);
          expect(delivered(world.gateway, requestId), "a reply was sent").toBe(false);
        },
      };
    },
  },
  {
    name: "with an isolated request in line behind a turn that never ends",
    stage: async (world) => {
      const { opened, pool, peer } = await turn(world, openTest);
      const { requestId } = world.gateway.dispatch(peer);
      await until(() => pool.wanted === 1, "the one in line");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => {
          expect(nacked(world.gateway, requestId), "it was handed back").toBe(true);
          expect(pool.lent).toHaveLength(1);
        },
      };
    },
  },
  {
    name: "with an isolated turn whose checkpoint has no answer",
    stage: async (world) => {
      world.gateway.script.ackCheckpoints = null;
      const { opened, peer, call, requestId } = await turn(world, openTest);
      void call.port.checkpoint(encodeJsonBytes([]));
      await until(() => peer.of("WORKER_CHECKPOINT")[0], "the checkpoint");
      return {
        connection: Promise.resolve(opened.connection),
        check: () => expect(nacked(world.gateway, requestId), "the work was handed back").toBe(true),
      };
    },
  },
  {
    name: "with an isolated turn whose thread dies meanwhile",
    delivers: true,
    stage: async (world) => {
      const { opened, pool, requestId } = await turn(world, openTest);
      return {
        connection: Promise.resolve(opened.connection),
        during: () => pool.kill(0),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "the connection thread is dead, with an isolated turn that ends",
    delivers: true,
    stage: async (world) => {
      const { opened, call, requestId } = await killable(world);
      opened.kill();
      await until(() => !opened.connection.debugState().threadAlive, "the death");
      return {
        connection: Promise.resolve(opened.connection),
        during: () => call.result.resolve(done()),
        check: () => expect(delivered(world.gateway, requestId)).toBe(true),
      };
    },
  },
  {
    name: "the connection thread is dead, with an isolated turn that never ends",
    stage: async (world) => {
      const { opened } = await killable(world);
      opened.kill();
      await until(() => !opened.connection.debugState().threadAlive, "the death");
      return { connection: Promise.resolve(opened.connection) };
    },
  },
  {
    name: "the connection thread hangs, with an isolated turn",
    hangs: true,
    stage: async (world) => {
      const { opened } = await killable(world);
      opened.kill("hang");
      await until(() => opened.hangs, "a thread that hangs");
      return { connection: Promise.resolve(opened.connection) };
    },
  },
];
