/**
 * `connect()`: from options and apps to an open connection. Everything that depends on this process (environment,
 * system clock, the thread's script) is gathered here; `open-connection.ts` gets it as ports.
 */
import {
  consoleLines,
  type ErrorCode,
  HoldfastError,
  isOwnFileBelow,
  type Log,
  logFor,
  systemClock,
  systemRandom,
  systemTimers,
} from "@holdfast/core";
import { FairTurns, UNLIMITED_TURNS } from "../../execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../execution/main-thread.ts";
import { apiBase, type ResolvedClientOptions } from "../../functions/app-client.ts";
import { appQueues } from "../../functions/app-queues.ts";
import { EventSchemas } from "../../functions/event-schemas.ts";
import { type AppInput, appManifest, createRegistry, registrationHints } from "../../functions/registry.ts";
import { replayCollector } from "../../functions/replay-collector.ts";
import type { Isolation } from "../../isolation/main/isolation.ts";
import { ownFolder } from "../../own-files.ts";
import { checkRuntime, nodeModule } from "../../runtime.ts";
import { poolThread } from "../../steps/isolated.ts";
import { loadThreadScript } from "../../thread-script.ts";
import { SDK_NAME } from "../../version.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";
import type { RequiredExtension, SerializableConfig } from "../shared/serializable-config.ts";
import { CONNECT_TIMEOUTS, MAX_APPS, OFFERED_EXTENSIONS } from "../shared/serializable-config.ts";
import { ConnectedApps } from "./connected-apps.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { createIsolation } from "./create-isolation.ts";
import { createHandlerPool } from "./handler-pool.ts";
import { whyNoStack } from "./inspector.ts";
import { createInspectors, type Inspectors } from "./inspectors.ts";
import { mainTask } from "./main-task.ts";
import { openConnection } from "./open-connection.ts";
import { prepareIsolation } from "./prepare-isolation.ts";
import { RECONNECT_BACKOFF, type ResolvedConnectOptions, resolveConnectOptions } from "./resolve-options.ts";
import { spawnConnectionThread, startEarly, type ThreadHandle } from "./spawn-thread.ts";
import { unconnected } from "./unconnected.ts";

export interface ConnectInput extends ConnectOptions {
  /** The apps that this process serves, each with the functions made by its client; 1 to 100. */
  readonly apps: readonly AppInput[];
}

/** Of functions that are not served, in a message. */
const MAX_NAMED = 5;

/** How often the thread mirrors its state. */
const DEBUG_MS = 5_000;

/** For all connections: they share one event loop. */
const turns = new FairTurns({ monotonicMs: systemClock.monotonicMs, nextTurn: (begin) => setImmediate(begin) });

let inspectors: Inspectors | undefined;

/** Also for all connections: one main thread is inspected. */
function sharedInspectors(): Inspectors {
  inspectors ??= createInspectors();
  return inspectors;
}

/**
 * Connects this process to a gateway and serves its functions until `close()`. A thread of its own keeps the
 * connection alive, also while the app's code blocks the main thread.
 * @returns once the connection is ready
 * @throws HoldfastError `RUNTIME_UNSUPPORTED`, `OPTION_INVALID`, `OPTION_MISSING`, `FUNCTION_INVALID`, `FUNCTION_DUPLICATE`, `CONNECT_TIMEOUT`,
 * `CONNECT_REFUSED`, `QUEUES_UNSUPPORTED`, `CONNECT_CLOSED`, `CONNECTION_FAILED`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN`,
 * `ISOLATE_MODULE_INVALID`, `ISOLATE_THREAD_LOST`; nothing is left behind then
 */
export async function connect(input: ConnectInput): Promise<Connection> {
  checkRuntime();
  const replay = replayCollector();
  if (replay) {
    for (const { functions } of input.apps) replay.add(functions);
    return unconnected();
  }
  // A thread of the pool evaluates the modules of the app again.
  poolThread()?.refuseConnect();
  const client = commonClientOptions(input?.apps);
  const options = resolveConnectOptions(input, process.env, client.mode);
  consoleLines.isOwnFile = isOwnFileBelow(ownFolder());
  const logger = input.logger ?? client.logger;
  const log = logFor(logger, client.logLevel);
  const handlers = createHandlerPool(input.apps, options.isolation);
  const isolation = createIsolation(log, options.isolation, handlers ?? undefined, logFor(logger, "debug"));
  try {
    const ports = { clock: systemClock, timers: systemTimers };
    const { pool, leftMs } = await prepareIsolation(isolation, handlers !== null, options, ports);
    const access = pool && handlers?.portsOf(pool);
    const left = { ...options, connectTimeoutMs: leftMs };
    return await counted(input.apps, client, log, () =>
      start(input, client, left, { log, isolation, pool: access, config: handlers?.config }),
    );
  } catch (error) {
    await isolation.close();
    throw error;
  }
}

/** Says so where this process has connected one of the apps already. */
async function counted(
  apps: readonly AppInput[],
  client: ResolvedClientOptions,
  log: Log,
  open: () => Promise<Connection>,
): Promise<Connection> {
  const connected = new ConnectedApps(`${apiBase(client)} ${client.env ?? ""}`);
  const { twice, remove } = connected.add(
    apps.map((app) => ({ id: app.client.options.id, version: app.client.options.appVersion })),
  );
  if (twice.length > 0) {
    const message = `This process has connected the app ${twice.map((id) => `"${id}"`).join(", ")} already: both connections are given runs. If its module was loaded again, as hot reload does, the earlier connection still runs the old code: close it first.`;
    log("warn", message, { code: "APP_CONNECTED_TWICE" satisfies ErrorCode });
  }
  try {
    const connection = await open();
    connection.closed.then(remove, remove);
    return connection;
  } catch (error) {
    remove();
    throw error;
  }
}

interface ConnectParts {
  readonly log: Log;
  readonly isolation: Isolation;
  /** Of isolated functions; undefined = there is none. */
  readonly pool: ConnectionPool | undefined;
  readonly config: Partial<SerializableConfig> | undefined;
}

async function start(
  input: ConnectInput,
  client: ResolvedClientOptions,
  options: ResolvedConnectOptions,
  parts: ConnectParts,
): Promise<Connection> {
  const script = options.workerUrl === undefined ? { text: await loadThreadScript() } : { url: options.workerUrl };
  // A thread takes longer to start than all the rest takes, and does it beside the main thread.
  const threads = startEarly(() => spawnConnectionThread({ script, resourceLimits: options.resourceLimits }));
  try {
    return await openWith(threads.start, input, client, options, parts);
  } finally {
    await threads.discard();
  }
}

async function openWith(
  startThread: () => ThreadHandle,
  input: ConnectInput,
  client: ResolvedClientOptions,
  options: ResolvedConnectOptions,
  { log, isolation, pool, config }: ConnectParts,
): Promise<Connection> {
  const strategy = createMainThreadStrategy(createRegistry(input.apps), {
    turns: options.yieldAfterMs === null ? UNLIMITED_TURNS : turns.limitedTo(options.yieldAfterMs),
    isolation,
  });
  for (const hint of registrationHints(input.apps)) log("warn", hint);
  return openConnection({
    config: { ...configOf(input.apps, client, options, log), ...config },
    functionCount: input.apps.reduce((count, { functions }) => count + functions.length, 0),
    envVariable: input.apps[0]?.client.envVariable,
    strategy,
    startThread,
    isolation,
    ...(pool === undefined ? {} : { pool }),
    inspectors: sharedInspectors(),
    respawn: options.respawn,
    hangTimeoutMs: options.hangTimeoutMs,
    connectTimeoutMs: options.connectTimeoutMs,
    drainTimeoutMs: options.drainTimeoutMs,
    signalDrainMs: options.signalDrainMs,
    signals: options.signals,
    abort: options.abort,
    callbacks: options.callbacks,
    log,
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
  });
}

function configOf(
  apps: readonly AppInput[],
  client: ResolvedClientOptions,
  options: ResolvedConnectOptions,
  log: Log,
): SerializableConfig {
  const { gatewayUrl, instanceId, maxWorkerConcurrency, queues, outbox, respawn } = options;
  const eventSchemas = new EventSchemas();
  const manifests = apps.map((app) => appManifest(app.client, app.functions, eventSchemas));
  const os = nodeModule("node:os");
  return {
    apiBaseUrl: apiBase(client),
    ...(gatewayUrl === undefined ? {} : { gatewayUrl }),
    ...(client.env === undefined ? {} : { envName: client.env }),
    ...(client.signingKey === undefined ? {} : { hashedSigningKey: client.signingKey.reveal() }),
    ...(client.signingKeyFallback === undefined ? {} : { hashedFallbackKey: client.signingKeyFallback.reveal() }),
    apps: manifests,
    isolated: [],
    instanceId,
    maxWorkerConcurrency,
    partitions: [],
    queues,
    required: requiredFor(apps, options, log),
    extensions: options.extensions ? OFFERED_EXTENSIONS : [],
    sdkVersion: SDK_NAME,
    startedAtMs: Math.round(systemClock.nowMs() - process.uptime() * 1000),
    system: { cpuCores: os.availableParallelism(), memBytes: os.totalmem(), os: os.platform() },
    outbox,
    reconnect: RECONNECT_BACKOFF[client.mode],
    minUptimeMs: respawn.minUptimeMs,
    ...CONNECT_TIMEOUTS,
    debugMs: DEBUG_MS,
    stall: { ...options.stall, noStack: whyNoStack(), ...mainTask(), ownFolder: ownFolder() },
  };
}

/** A gateway that knows no queues gives a worker runs of all its functions. */
function requiredFor(
  apps: readonly AppInput[],
  { queues, extensions }: ResolvedConnectOptions,
  log: Log,
): RequiredExtension[] {
  const { unserved, empty } = appQueues(apps, queues);
  for (const queue of empty) {
    const message = `This worker serves the queue "${queue}", but none of its functions is in it.`;
    log("warn", message, { code: "QUEUE_EMPTY" satisfies ErrorCode, queue });
  }
  if (unserved.length === 0) return [];
  const named = unserved.slice(0, MAX_NAMED).join(", ");
  const more = unserved.length > MAX_NAMED ? ` and ${unserved.length - MAX_NAMED} more` : "";
  const what = `This worker is not to run ${named}${more}, since it serves the queues ${queues.join(", ")}`;
  if (!extensions) {
    throw new HoldfastError("OPTION_INVALID", `${what}: that requires \`extensions\`, which are switched off.`);
  }
  const message = `${what}; the gateway does not keep queues apart and would give it runs of all functions.`;
  return [{ extension: "queues", code: "QUEUES_UNSUPPORTED", message }];
}

/** What all clients must agree on, since one connection serves them all. */
const COMMON = ["mode", "apiBaseUrl", "env"] as const;

function commonClientOptions(apps: unknown): ResolvedClientOptions {
  if (!Array.isArray(apps) || apps.length === 0 || apps.length > MAX_APPS) {
    throw new HoldfastError("OPTION_INVALID", `The option \`apps\` must be an array of 1 to ${MAX_APPS} apps.`);
  }
  const all = (apps as readonly Partial<AppInput>[]).map((app, index) => {
    if (app?.client?.options === undefined || !Array.isArray(app.functions)) {
      throw new HoldfastError(
        "OPTION_INVALID",
        `apps[${index}] must be { client, functions }: a Holdfast client and an array of its functions.`,
      );
    }
    return app.client.options;
  });
  const first = all[0] as ResolvedClientOptions;
  for (const other of all) {
    const differing = COMMON.find((name) => other[name] !== first[name]) ?? differingKey(first, other);
    if (differing === undefined) continue;
    throw new HoldfastError(
      "OPTION_INVALID",
      `The clients of "${first.id}" and "${other.id}" differ in \`${differing}\`; apps of one connection must share it.`,
    );
  }
  apiBase(first);
  if (first.mode === "cloud" && first.signingKey === undefined) {
    throw new HoldfastError(
      "OPTION_MISSING",
      "A signing key is required: pass the client `signingKey`, set HOLDFAST_SIGNING_KEY, or set `isDev: true` for a gateway on this machine.",
    );
  }
  return first;
}

function differingKey(one: ResolvedClientOptions, other: ResolvedClientOptions): string | undefined {
  return (["signingKey", "signingKeyFallback"] as const).find((name) => one[name]?.reveal() !== other[name]?.reveal());
}
