import { leakCheck } from "@holdfast/testing";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Connection } from "../../src/connection/main/connection.ts";
import { loadThreadScript } from "../../src/thread-script.ts";
import { CLOSE_STATES, type CloseState, type Staged } from "./close-states.ts";
import { ISOLATED_CLOSE_STATES } from "./close-states-isolated.ts";
import type { Opened } from "./harness.ts";
import { startTestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

/**
 * That it is over in time is shown on virtual time (`closer.test.ts`). Here each wait that is not its business is far longer
 * than a test may take, so that one that waits for it never ends; how long the rest takes is the machine's affair.
 */
const FAR_TOO_LONG_MS = 3_600_000;
const DRAIN_MS = 150;
/** Where something must be made or delivered first, which a busy machine may take its time for. */
const LONGER_DRAIN_MS = 2_000;

interface Handle {
  readonly staged: Staged;
  readonly abort: AbortController;
  readonly signal: () => void;
}

interface Way {
  readonly name: string;
  /** Needs what connect() returns. */
  readonly late: boolean;
  /** The deadline is now: nothing but the end can be relied on. */
  readonly forces?: true;
  readonly go: (handle: Handle) => Promise<unknown>;
}

const over = async ({ staged }: Handle): Promise<unknown> => {
  const connection = await staged.connection.catch(() => undefined);
  return connection?.closed.catch(() => {});
};
const withConnection = (go: (connection: Connection) => Promise<unknown>) => async (handle: Handle) => {
  const closing = go(await handle.staged.connection);
  await handle.staged.during?.();
  return closing;
};

const WAYS: readonly Way[] = [
  {
    name: "once, and once more afterwards",
    late: true,
    go: withConnection((connection) => connection.close().then(() => connection.close())),
  },
  {
    name: "three times at once",
    late: true,
    go: withConnection((connection) => Promise.all([connection.close(), connection.close(), connection.close()])),
  },
  {
    name: "by `await using`",
    late: true,
    go: withConnection(async (connection) => {
      await using _closed = connection;
    }),
  },
  {
    name: "by its AbortSignal",
    late: false,
    go: async (handle) => {
      handle.abort.abort();
      await handle.staged.during?.();
      return over(handle);
    },
  },
  {
    name: "by a process signal",
    late: false,
    go: async (handle) => {
      handle.signal();
      await handle.staged.during?.();
      return over(handle);
    },
  },
  {
    name: "by two process signals, the second of which forces",
    late: false,
    forces: true,
    go: async (handle) => {
      handle.signal();
      handle.signal();
      await handle.staged.during?.();
      return over(handle);
    },
  },
];

// What makes the script stays for all tests.
beforeAll(async () => void (await loadThreadScript()));

let signals: number;
/** Listens, too, so that the process of the tests does not end with the connection. */
const listen = (): void => {
  signals += 1;
};
beforeEach(() => {
  signals = 0;
  process.on("SIGUSR2", listen);
});
afterEach(() => {
  process.removeListener("SIGUSR2", listen);
});

async function close(state: CloseState, way: Way): Promise<void> {
  const leaks = leakCheck();
  const gateway = await startTestGateway({ heartbeat: "2s", lease: "60ms" });
  const logs: Opened["logs"] = [];
  const abort = new AbortController();
  const deadlineMs = state.delivers ? LONGER_DRAIN_MS : DRAIN_MS;
  const changes = {
    drainTimeoutMs: way.forces ? FAR_TOO_LONG_MS : deadlineMs,
    // A thread that is all right ends by itself, however slow the machine is.
    ...(state.hangs ? {} : { closeGraceMs: FAR_TOO_LONG_MS }),
    signals: ["SIGUSR2" as const],
    abort: abort.signal,
    logs,
  };
  const staged = await state.stage({ gateway, changes, logs });
  let sent = 0;
  const signal = (): void => {
    sent += 1;
    process.emit("SIGUSR2", "SIGUSR2");
  };
  await way.go({ staged, abort, signal });
  if (state.early) {
    await expect(staged.connection).rejects.toMatchObject({ code: "CONNECT_CLOSED" });
  } else {
    const connection = await staged.connection;
    expect(connection.state).toBe(state.ends ?? "CLOSED");
    expect(connection.debugState()).toMatchObject({ threadAlive: false, inFlight: 0 });
    await connection.close();
  }
  expect(signals).toBe(sent);
  expect(process.listeners("SIGUSR2"), "the handler is gone").toEqual([listen]);
  for (const peer of gateway.peers) peer.socket.resume();
  await until(() => gateway.openSockets === 0, "no open socket");
  if (!(way.forces && state.delivers)) staged.check?.();
  await gateway.close();
  // Neither timer nor socket nor thread: nothing that would keep a process alive.
  await leaks.assertNone();
}

describe.each([...CLOSE_STATES, ...ISOLATED_CLOSE_STATES])("close(): $name", (state) => {
  const ways = WAYS.filter(({ late }) => !(late && state.early));
  it.each(ways)("close() ($name) leaves nothing open", (way) => close(state, way));
});
