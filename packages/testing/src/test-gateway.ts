/** A real gateway in the test's process, with a database of its own, and helpers to read what became of runs. */
import { type DurationInput, HoldfastError, parseDurationMs } from "@holdfast/core";
import type { Gateway, GatewayOptions } from "@holdfast/gateway";
import { defaultTimeoutMs } from "./default-timeout.ts";
import { type GatewayFaults, gatewayFaults } from "./gateway-faults.ts";
import { gatewayNotLoaded } from "./gateway-not-loaded.ts";
import { createDatabase, type ServerInput } from "./test-database.ts";
import { startTestPostgres, TEST_DATABASE_URL } from "./test-postgres.ts";
import { waitFor } from "./wait-for.ts";

/** Options of `startTestGateway`: those of a gateway, but for where it keeps its data. */
export interface TestGatewayOptions
  extends Omit<GatewayOptions, "databaseUrl" | "dataDir" | "keepData" | "virtualTime" | "faults"> {
  /** The Postgres server to make a database on; not with `store: "memory"`. Default: that of `HOLDFAST_TEST_DATABASE_URL`, else a throwaway one. */
  readonly server?: ServerInput;
}

/** A run as the gateway's API shows it. */
export interface GatewayRun {
  readonly id: string;
  readonly functionId: string;
  readonly status: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED";
  readonly output?: unknown;
  readonly error?: unknown;
  readonly steps: readonly {
    readonly id: string;
    readonly name: string;
    readonly op: string;
    readonly status: string;
  }[];
}

/** Options of `waitForRun()`. */
export interface WaitForRunOptions {
  /** How long to wait at most. Default 4000, or what `HOLDFAST_TEST_TIMEOUT_MS` says. */
  readonly timeoutMs?: number;
}

/** A whole gateway in this process, whose time can be moved on. */
export interface TestGateway {
  /** What an app is given as `baseUrl`, or as `HOLDFAST_DEV`. */
  readonly url: string;
  /** Undefined with `store: "memory"`. */
  readonly databaseUrl: string | undefined;
  /** The gateway itself: `drain()` and the rest. */
  readonly gateway: Gateway;
  /** What goes wrong on request: frames that are lost, connections that break, a database that refuses. */
  readonly faults: GatewayFaults;
  /** Time goes on by this much: sleeps, timeouts and retries that are due by then happen at once. */
  skipTime(duration: DurationInput): Promise<void>;
  /** The runs that an event has started so far. */
  runsOf(eventId: string): Promise<readonly GatewayRun[]>;
  run(runId: string): Promise<GatewayRun>;
  /**
   * Waits until the one run that an event has started looks so; default: until it has ended. It gives up after 4 s, or
   * what `HOLDFAST_TEST_TIMEOUT_MS` says: before Vitest and Jest end the test, so that the test says what it waited for.
   * Where a run takes longer, give `timeoutMs`, and the test itself more time.
   * @throws HoldfastError `TEST_TIMEOUT`, with what became of the runs
   */
  waitForRun(
    eventId: string,
    condition?: (run: GatewayRun) => boolean,
    options?: WaitForRunOptions,
  ): Promise<GatewayRun>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type StoreName = NonNullable<GatewayOptions["store"]>;

/** Vitest and Jest end a test after 5 s. */
const RUN_TIMEOUT_MS = 4_000;
const ENDED: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/**
 * Starts a gateway on a database of its own, or with `store: "memory"` on none, on a free port, with virtual time. `@holdfast/gateway` must be installed.
 * @throws HoldfastError `OPTION_MISSING` when it is not; `RUNTIME_UNSUPPORTED` when it cannot be loaded; `OPTION_INVALID`
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { server, ...rest } = options;
  const { startGateway } = await loadGateway();
  const cleanUps: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (let cleanUp = cleanUps.pop(); cleanUp !== undefined; cleanUp = cleanUps.pop()) await cleanUp();
  };
  try {
    const { store = "postgres" } = rest;
    const databaseUrl = ON_A_SERVER[store] ? await ownDatabase(server, cleanUps) : noServer(store, server);
    const database = databaseUrl === undefined ? {} : { databaseUrl };
    const gateway = await startGateway({ port: 0, ...rest, ...database, virtualTime: true, faults: true });
    cleanUps.push(() => gateway.close());
    return testGateway(gateway, databaseUrl, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether a store keeps its data in a database on a server. */
const ON_A_SERVER: Readonly<Record<StoreName, boolean>> = { postgres: true, memory: false };

function noServer(store: StoreName, server: ServerInput | undefined): undefined {
  if (server === undefined) return undefined;
  throw new HoldfastError(
    "OPTION_INVALID",
    `The ${store} store needs no \`server\`: omit it, or \`store: "${store}"\`.`,
  );
}

async function ownDatabase(server: ServerInput | undefined, cleanUps: (() => Promise<unknown>)[]): Promise<string> {
  const postgres = server ?? process.env[TEST_DATABASE_URL] ?? (await ownServer(cleanUps));
  const database = await createDatabase(postgres);
  cleanUps.push(() => database.drop());
  return database.url;
}

async function ownServer(cleanUps: (() => Promise<unknown>)[]): Promise<ServerInput> {
  const postgres = await startTestPostgres();
  cleanUps.push(() => postgres.stop());
  return postgres;
}

function testGateway(gateway: Gateway, databaseUrl: string | undefined, close: () => Promise<void>): TestGateway {
  const call = async (path: string, what: string): Promise<unknown> => {
    const response = await fetch(new URL(path, gateway.url));
    if (response.status === 404) throw new HoldfastError("NOT_FOUND", `There is no ${what}.`);
    if (!response.ok) throw new HoldfastError("NOT_FOUND", `GET ${path} answered ${response.status}.`);
    return response.json();
  };
  const run = (id: string): Promise<GatewayRun> =>
    call(`/v1/runs/${encodeURIComponent(id)}`, `run ${id}`) as Promise<GatewayRun>;
  const runsOf = async (id: string): Promise<readonly GatewayRun[]> => {
    const answer = await call(`/v1/events/${encodeURIComponent(id)}`, `event ${id}`);
    return Promise.all((answer as { readonly runIds: readonly string[] }).runIds.map(run));
  };
  return {
    url: gateway.url,
    databaseUrl,
    gateway,
    run,
    runsOf,
    faults: gatewayFaults(gateway.url),
    skipTime: async (duration) => gateway.skipTime(parseDurationMs(duration, "The duration of skipTime()")),
    waitForRun: (...args) => waitForRun(runsOf, ...args),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function waitForRun(
  runsOf: TestGateway["runsOf"],
  ...[eventId, condition = ({ status }) => ENDED.has(status), options = {}]: Parameters<TestGateway["waitForRun"]>
): Promise<GatewayRun> {
  const { timeoutMs = defaultTimeoutMs(RUN_TIMEOUT_MS) } = options;
  let last: readonly GatewayRun[] | undefined;
  const look = async (): Promise<GatewayRun | undefined> => {
    last = undefined;
    last = await runsOf(eventId);
    return last.find(condition);
  };
  // Of an event that there is not, the error says it.
  const context = (): string => (last === undefined ? "" : becameText(last));
  return waitFor(look, { what: `the run of event ${eventId}`, timeoutMs, context });
}

function becameText(runs: readonly GatewayRun[]): string {
  if (runs.length === 0) return "The event has started no run.";
  return runs.map(({ id, functionId, status }) => `Run ${id} of ${functionId} is ${status}.`).join("\n");
}

/** In the CommonJS build this is a `require`, since Jest's modules of that kind have no `import()`: `tsup.config.ts`. */
async function loadGateway(): Promise<typeof import("@holdfast/gateway")> {
  try {
    return await import("@holdfast/gateway");
  } catch (cause) {
    throw gatewayNotLoaded(cause);
  }
}
