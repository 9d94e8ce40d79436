/**
 * The two modes of the program: `dev` for a developer's machine, `start` for production. What only one of them has, and
 * what `start` needs, is decided here.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import { unusedByStore } from "./config.ts";
import type { GatewayOptions } from "./gateway-options.ts";
import { readGatewayKeys } from "./keys-config.ts";
import type { OptionRow } from "./option-kinds.ts";
import { GATEWAY_OPTIONS } from "./option-table.ts";
import { givenValues, type Rows, type Setting, sourceText, usage } from "./settings.ts";

export type Mode = "dev" | "start";

/** Options that production does not have, with the value that is harmless there. */
export const DEVELOPMENT_ONLY: Readonly<Partial<Record<keyof GatewayOptions, unknown>>> = {
  store: "postgres",
  dataDir: undefined,
  keepData: true,
  plain: false,
  virtualTime: false,
  faults: false,
};

const WEEK_MS = 7 * 86_400_000;
/** Defaults that a mode has instead of those of the table. A developer looks at what has just happened. */
export const MODE_DEFAULTS: Readonly<Record<Mode, GatewayOptions>> = {
  dev: { retentionCompletedMs: WEEK_MS, retentionFailedMs: WEEK_MS, logRuns: "info", faults: true },
  start: {},
};

/** Options that are read for a mode. Those of development are read for `start` too, to be refused by name. */
export function gatewayRows(): Rows {
  const { log: _, ...rows } = GATEWAY_OPTIONS;
  return rows;
}

/** Options whose flags a mode has. */
export function flagRows(mode: Mode): Rows {
  const rows = Object.entries<OptionRow>(gatewayRows());
  return Object.fromEntries(rows.filter(([name]) => mode === "dev" || !Object.hasOwn(DEVELOPMENT_ONLY, name)));
}

/**
 * The options of the gateway that `startGateway` is called with.
 * @throws HoldfastError `GATEWAY_USAGE`, and with `start` `START_INCOMPLETE`, with all that is missing
 */
export function gatewayOptions(mode: Mode, settings: readonly Setting[]): GatewayOptions {
  const options: GatewayOptions = givenValues(settings);
  checkTogether(options);
  if (mode === "dev") checkStore(options, settings);
  const problems = mode === "dev" ? [] : productionProblems(options, settings);
  if (problems.length > 0) throw incomplete(problems);
  return plannedOptions(mode, settings);
}

/** The same where something may still be missing. */
export function plannedOptions(mode: Mode, settings: readonly Setting[]): GatewayOptions {
  const options: GatewayOptions = givenValues(settings);
  if (mode === "dev") return options;
  const {
    store: _,
    dataDir: _dir,
    keepData: _keep,
    plain: _plain,
    virtualTime: _time,
    faults: _faults,
    ...production
  } = options;
  // A proxy on this machine may make a gateway on loopback reachable from others.
  return { allowPrivateFetch: false, ...production };
}

function checkTogether({ leaseMs, heartbeatMs }: GatewayOptions): void {
  if (leaseMs === undefined || heartbeatMs === undefined || heartbeatMs <= leaseMs) return;
  throw new HoldfastError(
    "GATEWAY_USAGE",
    `--heartbeat (${heartbeatMs} ms) must not be longer than --lease (${leaseMs} ms): a lost worker must be noticed before its leases end.`,
  );
}

/** As the gateway itself checks it, in the words of the caller: flags, variables, entries of the file. */
function checkStore(options: GatewayOptions, settings: readonly Setting[]): void {
  const { store } = options;
  if (store === undefined) return;
  const given = (name: keyof GatewayOptions): string => {
    const source = settings.find((one) => one.name === name)?.source;
    return source === undefined || source.type === "file" ? `\`${name}\`` : sourceText(source);
  };
  const unused = unusedByStore(options, store);
  if (unused.length === 0) return;
  const them = unused.length === 1 ? "it" : "them";
  const choice = `${given("store")} ${store}`;
  throw usage(`The ${store} store does not use ${unused.map(given).join(", ")}: omit ${them}, or ${choice}.`);
}

/** What keeps `start` from starting; each with how to fix it. */
export function productionProblems(options: GatewayOptions, settings: readonly Setting[]): string[] {
  return [...databaseProblems(options), ...keyProblems(options), ...developmentProblems(settings)];
}

function databaseProblems({ databaseUrl }: GatewayOptions): string[] {
  if (databaseUrl !== undefined && databaseUrl !== "") return [];
  return [
    "a database: set HOLDFAST_DATABASE_URL (or --database-url) to postgres://user:password@host:5432/database, Postgres 14 or newer",
  ];
}

function keyProblems(options: GatewayOptions): string[] {
  try {
    const { signingKeys, eventKeys } = readGatewayKeys(options);
    return [
      ...(signingKeys.length > 0 ? [] : ["a signing key: set HOLDFAST_SIGNING_KEY, or name a file with --keys"]),
      ...(eventKeys.length > 0 ? [] : ["an event key: set HOLDFAST_EVENT_KEY, or name a file with --keys"]),
    ];
  } catch (error) {
    return [`keys that can be used: ${messageOf(error).replace(/\.$/, "")}`];
  }
}

function developmentProblems(settings: readonly Setting[]): string[] {
  return settings.flatMap(({ name, value, source }) => {
    if (source.type === "default" || !Object.hasOwn(DEVELOPMENT_ONLY, name)) return [];
    if (value === DEVELOPMENT_ONLY[name as keyof GatewayOptions]) return [];
    return [`\`${name}\` left out (${sourceText(source)}): only \`dev\` has it`];
  });
}

function incomplete(problems: readonly string[]): HoldfastError {
  const list = problems.map((one) => `\n  - ${one}`).join("");
  const help = 'New keys: "holdfast-gateway keys create". To try it without any of this: "holdfast-gateway dev".';
  return new HoldfastError("START_INCOMPLETE", `start needs:${list}\n${help}`);
}
