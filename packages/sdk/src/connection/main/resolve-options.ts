import { type BackoffPolicy, describeValue, HoldfastError } from "@holdfast/core";
import {
  asBoolean,
  asDurationMs,
  asInteger,
  asName,
  asUrl,
  checkKnown,
  type Environment,
  invalidOption,
  type OptionParser,
  readOption,
} from "../../options.ts";
import { nodeModule } from "../../runtime.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";
import { HANG_TIMEOUT_MS } from "./hang-watch.ts";
import type { RespawnPolicy } from "./thread-host.ts";

export interface ResolvedConnectOptions {
  readonly gatewayUrl?: string;
  readonly instanceId: string;
  readonly maxWorkerConcurrency: number;
  readonly signals: readonly NodeJS.Signals[];
  readonly abort?: AbortSignal;
  readonly connectTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly workerUrl?: string | URL;
  readonly resourceLimits?: NonNullable<ConnectOptions["resourceLimits"]>;
  readonly extensions: boolean;
  readonly outbox: { readonly maxCount: number; readonly maxBytes: number; readonly ackMs: number };
  readonly respawn: RespawnPolicy;
  readonly hangTimeoutMs: number;
  readonly stall: { readonly thresholdMs: number | null; readonly maxStallMs: number | null };
}

export const RECONNECT_BACKOFF: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0.5 };

const HOUR_MS = 3_600_000;
/** Gateways take no longer ones. */
const MAX_INSTANCE_ID_LENGTH = 256;
const MAX_CONCURRENCY = 100_000;

const asSwitch: OptionParser<boolean> = (value, source) => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (text === "on") return true;
  return text === "off" ? false : asBoolean(value, source);
};

const KNOWN = [
  "apps",
  "gatewayUrl",
  "instanceId",
  "maxWorkerConcurrency",
  "handleShutdownSignals",
  "signal",
  "connectTimeout",
  "drainTimeout",
  "stallThreshold",
  "maxStall",
  "workerUrl",
  "resourceLimits",
  "extensions",
  "logger",
  "outbox",
  "respawn",
];

function checkNames(options: ConnectOptions): void {
  checkKnown("connect()", options, KNOWN);
  checkGroup("outbox", options.outbox, ["maxCount", "maxBytes", "ackTimeout"]);
  checkGroup("respawn", options.respawn, ["baseDelay", "maxDelay", "maxCrashes", "minUptime", "hangTimeout"]);
}

function checkGroup(name: string, value: unknown, known: readonly string[]): void {
  if (value === undefined) return;
  if (typeof value !== "object" || value === null) throw invalidOption(`the option \`${name}\``, "must be an object.");
  checkKnown(`The option \`${name}\``, value, known);
}

/** @throws HoldfastError `OPTION_INVALID` */
export function resolveConnectOptions(options: ConnectOptions, env: Environment): ResolvedConnectOptions {
  checkNames(options);
  const duration = (
    name: string,
    given: unknown,
    fallbackMs: number,
    minMs: number,
    variables: string[] = [],
  ): number =>
    readOption({ name, given, variables, parse: asDurationMs({ minMs, maxMs: 24 * HOUR_MS }) }, env) ?? fallbackMs;
  const integer = (name: string, given: unknown, fallback: number, max: number, variables: string[] = []): number =>
    readOption({ name, given, variables, parse: asInteger(1, max) }, env) ?? fallback;
  const gatewayUrl = readOption(
    { name: "gatewayUrl", given: options.gatewayUrl, variables: ["_CONNECT_GATEWAY_URL"], parse: asUrl(["ws", "wss"]) },
    env,
  );
  const { outbox = {}, respawn = {} } = options;
  return {
    ...(gatewayUrl === undefined ? {} : { gatewayUrl }),
    instanceId:
      readOption(
        {
          name: "instanceId",
          given: options.instanceId,
          variables: ["_CONNECT_INSTANCE_ID"],
          parse: asName(MAX_INSTANCE_ID_LENGTH),
        },
        env,
      ) ?? defaultInstanceId(),
    maxWorkerConcurrency: integer("maxWorkerConcurrency", options.maxWorkerConcurrency, 1000, MAX_CONCURRENCY, [
      "_CONNECT_MAX_WORKER_CONCURRENCY",
    ]),
    signals: resolveSignals(options.handleShutdownSignals),
    ...(options.signal === undefined ? {} : { abort: checkedAbort(options.signal) }),
    connectTimeoutMs: duration("connectTimeout", options.connectTimeout, 30_000, 1, ["_CONNECT_TIMEOUT"]),
    drainTimeoutMs: duration("drainTimeout", options.drainTimeout, 25_000, 0, ["_DRAIN_TIMEOUT"]),
    ...(options.workerUrl === undefined ? {} : { workerUrl: resolveWorkerUrl(options.workerUrl) }),
    ...(options.resourceLimits === undefined ? {} : { resourceLimits: resolveLimits(options.resourceLimits) }),
    extensions:
      readOption({ name: "extensions", given: options.extensions, variables: ["_EXTENSIONS"], parse: asSwitch }, env) ??
      true,
    outbox: {
      maxCount: integer("outbox.maxCount", outbox.maxCount, 10_000, 10_000_000),
      maxBytes: integer("outbox.maxBytes", outbox.maxBytes, 256 * 1024 * 1024, Number.MAX_SAFE_INTEGER),
      ackMs: duration("outbox.ackTimeout", outbox.ackTimeout, 5_000, 50),
    },
    stall: resolveStall(options, env),
    respawn: {
      baseMs: duration("respawn.baseDelay", respawn.baseDelay, 100, 1),
      maxMs: duration("respawn.maxDelay", respawn.maxDelay, 30_000, 1),
      factor: 2,
      jitter: 0.2,
      maxCrashes: integer("respawn.maxCrashes", respawn.maxCrashes, 10, 1_000_000),
      minUptimeMs: duration("respawn.minUptime", respawn.minUptime, 10_000, 1),
    },
    hangTimeoutMs: duration("respawn.hangTimeout", respawn.hangTimeout, HANG_TIMEOUT_MS, MIN_HANG_MS),
  };
}

function defaultInstanceId(): string {
  const suffix = nodeModule("node:crypto").randomBytes(4).toString("hex");
  return `${nodeModule("node:os").hostname()}-${process.pid}-${suffix}`;
}

/** Shorter, and a busy machine looks like a hang. */
const MIN_HANG_MS = 1_000;
const DEFAULT_STALL_MS = 1_000;
const MIN_STALL_MS = 100;

/** A duration, or `false` or "off" for never. */
function orNever(parse: OptionParser<number>): OptionParser<number | null> {
  return (value, source) => {
    const text = typeof value === "string" ? value.trim().toLowerCase() : value;
    return text === false || text === "off" || text === "false" ? null : parse(value, source);
  };
}

function resolveStall(options: ConnectOptions, env: Environment): ResolvedConnectOptions["stall"] {
  const read = (name: "stallThreshold" | "maxStall", variable: string, maxMs: number): number | null | undefined =>
    readOption(
      {
        name,
        given: options[name],
        variables: [variable],
        parse: orNever(asDurationMs({ minMs: MIN_STALL_MS, maxMs })),
      },
      env,
    );
  const given = read("stallThreshold", "_STALL_THRESHOLD", HOUR_MS);
  const thresholdMs = given === undefined ? DEFAULT_STALL_MS : given;
  const maxStallMs = read("maxStall", "_MAX_STALL", 24 * HOUR_MS) ?? null;
  if (maxStallMs !== null && (thresholdMs === null || maxStallMs < thresholdMs)) {
    throw invalidOption(
      "the option `maxStall`",
      "requires `stallThreshold`, and must not be shorter: a stall is detected first, and its requests are returned afterwards.",
    );
  }
  return { thresholdMs, maxStallMs };
}

const LIMITS = ["maxOldGenerationSizeMb", "maxYoungGenerationSizeMb", "codeRangeSizeMb", "stackSizeMb"] as const;

function resolveLimits(given: unknown): NonNullable<ConnectOptions["resourceLimits"]> {
  checkGroup("resourceLimits", given, LIMITS);
  const limits = given as Readonly<Record<string, unknown>>;
  const wrong = LIMITS.find((name) => limits[name] !== undefined && !isSize(limits[name]));
  if (wrong === undefined) return limits;
  throw invalidOption(
    `the option \`resourceLimits.${wrong}\``,
    `must be a number of megabytes above 0, not ${describeValue(limits[wrong])}.`,
  );
}

const isSize = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value) && value > 0;

function resolveSignals(given: unknown): readonly NodeJS.Signals[] {
  if (given === undefined) return ["SIGINT", "SIGTERM"];
  const isSignal = (value: unknown): boolean => typeof value === "string" && /^SIG[A-Z0-9]+$/.test(value);
  if (!Array.isArray(given) || !given.every(isSignal)) {
    throw invalidOption("the option `handleShutdownSignals`", 'must be an array of signal names such as "SIGTERM".');
  }
  if (given.includes("SIGKILL") || given.includes("SIGSTOP")) {
    throw invalidOption("the option `handleShutdownSignals`", "contains a signal that no process can handle.");
  }
  const { signals } = nodeModule("node:os").constants;
  const unknown = given.find((name) => !Object.hasOwn(signals, name));
  if (unknown !== undefined) {
    throw invalidOption(
      "the option `handleShutdownSignals`",
      `contains the signal ${unknown}, which this system does not have.`,
    );
  }
  return given as readonly NodeJS.Signals[];
}

function checkedAbort(given: unknown): AbortSignal {
  if (given instanceof AbortSignal) return given;
  throw invalidOption("the option `signal`", "must be an AbortSignal.");
}

function resolveWorkerUrl(given: string | URL): string | URL {
  if (given instanceof URL) return given;
  if (typeof given === "string" && given !== "") return given.startsWith("file:") ? new URL(given) : given;
  throw new HoldfastError("OPTION_INVALID", "The option `workerUrl` must be a file URL or an absolute path.");
}
