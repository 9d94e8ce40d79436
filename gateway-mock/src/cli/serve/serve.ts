/** `dev` and `start`: read the configuration, start a gateway, end it when it is asked to. */
import { realpathSync } from "node:fs";
import { HoldfastError, type Log, sleep, systemTimers } from "@holdfast/core";
import { EXTENDED_INTERVALS, PLAIN_INTERVALS } from "@holdfast/protocol";
import { COMMAND_OPTIONS } from "../../config/command-options.ts";
import { resolveConfig } from "../../config/config.ts";
import { readGatewayFile } from "../../config/config-file.ts";
import type { GatewayOptions } from "../../config/gateway-options.ts";
import { gatewayOptions, gatewayRows, MODE_DEFAULTS, type Mode, plannedOptions } from "../../config/modes.ts";
import { settingText, shownSettings } from "../../config/print-config.ts";
import { readSettings, type Setting, valuesOf } from "../../config/settings.ts";
import { unknownVariables } from "../../config/unknown-variables.ts";
import { type Overview, readOverview, type StartedParts } from "../../gateway-overview.ts";
import { type Gateway, REAL_PORTS, startGatewayOn } from "../../server.ts";
import { VERSION } from "../../version.ts";
import { batchedLines } from "../batched-lines.ts";
import { COMMANDS } from "../commands.ts";
import type { CommandContext } from "../context.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { greeting } from "../greeting.ts";
import { invokedAs } from "../invoked-as.ts";
import { startLiveView } from "../live/live-view.ts";
import { StatusArea } from "../live/status-area.ts";
import { wantsLive } from "../live/wants-live.ts";
import { createLog } from "../logger.ts";
import { type Output, printJson } from "../output.ts";
import { inWordsOfDoctor } from "../read-only-database.ts";
import { tableText } from "../table.ts";
import { stopRequests } from "./stop-requests.ts";
import type { Terminal } from "./terminal.ts";

const START_PATIENCE_MS = 3_000;
/** What a local Postgres that is being made may take to end and to be removed. */
const GIVEN_UP_MS = 10_000;
const VARIABLES = COMMANDS.flatMap(({ rows }) => Object.values(rows).flatMap(({ variables }) => variables));

/** What it runs in. */
export interface Host {
  /** The file that was started, as the user named it. */
  readonly script: string;
  /** Where the log goes. */
  readonly terminal: Terminal;
  /** Calls for each time that the gateway is asked to end. */
  onStopAsked(listener: () => void): void;
}

type ServeOptions = ReturnType<typeof valuesOf<typeof COMMAND_OPTIONS>>;

interface Configuration {
  readonly mode: Mode;
  /** Those of the gateway. */
  readonly settings: readonly Setting[];
  /** These, and those of the command. */
  readonly all: readonly Setting[];
  readonly command: ServeOptions;
}

/**
 * @throws HoldfastError what is wrong with the configuration: `GATEWAY_USAGE`, `START_INCOMPLETE`, `OPTION_INVALID`,
 * `SIGNING_KEY_INVALID`; and what `startGateway` throws
 */
export async function serve(mode: Mode, context: CommandContext, host: Host): Promise<ExitCode> {
  const { terminal } = host;
  const configuration = readConfiguration(mode, context);
  const { settings, command } = configuration;
  const strange = unknownVariables(context.env, VARIABLES);
  if (command.printConfig) {
    printConfig(configuration, context.output, terminal);
    if (!command.json) for (const sentence of strange) context.output.note(`${sentence}\n`);
    // What would keep it from starting is said then, too.
    resolveConfig(gatewayOptions(mode, settings));
    return EXIT.done;
  }
  const options = gatewayOptions(mode, settings);
  const area = new StatusArea(terminal);
  const lines = batchedLines(area, systemTimers);
  process.on("exit", () => {
    lines.flush();
    area.end();
  });
  const { NO_COLOR, TERM } = context.env;
  const colours = terminal.isTTY && !NO_COLOR && TERM !== "dumb";
  const log = createLog(lines, command.logLevel, formatOf(mode, command, terminal), colours);
  for (const sentence of strange) log("warn", sentence);
  const stopping = stopRequests(log, host.onStopAsked);
  let look: (() => Promise<Overview>) | undefined;
  const onStarted = (parts: StartedParts): void => {
    look = () => readOverview(parts);
  };
  const given = new AbortController();
  void stopping.asked.then(() => given.abort());
  const ports = { ...REAL_PORTS, onStarted, signal: given.signal };
  const starting = startGatewayOn(ports, { ...MODE_DEFAULTS[mode], ...options, log }).catch((error: unknown) => {
    // What failed of a start that was given up has failed for that.
    if (given.signal.aborted) return null;
    throw inWordsOfDoctor(error) ?? error;
  });
  // What has been started of a local Postgres ends with this process.
  const gateway = await Promise.race([
    starting,
    stopping.asked.then(() => startedSoon(starting, options.databaseUrl === undefined)),
  ]);
  if (gateway === null) {
    log("info", "Stopped before the gateway was ready.");
    return EXIT.done;
  }
  announce(gateway, { configuration, options, context, log, script: host.script });
  const isLive = look && showsLive(configuration, context, terminal);
  const endView = look && isLive ? startLiveView(area, terminal, look) : () => {};
  const failure = await Promise.race([stopping.asked, gateway.failed]);
  endView();
  if (HoldfastError.is(failure)) {
    await gateway.close();
    throw failure;
  }
  log(
    "info",
    "Shutting down: workers are asked to reconnect elsewhere; replies are still accepted. A second signal stops immediately.",
  );
  await Promise.race([gateway.drain(), stopping.forced]);
  await gateway.close();
  return EXIT.done;
}

function readConfiguration(mode: Mode, { flags, env }: CommandContext): Configuration {
  const { config } = valuesOf(
    { config: COMMAND_OPTIONS.config },
    readSettings({ config: COMMAND_OPTIONS.config }, { flags, env }),
  );
  const all = readSettings({ ...gatewayRows(), ...COMMAND_OPTIONS }, { flags, env, file: readGatewayFile(config) });
  const isOfCommand = ({ name }: Setting): boolean => Object.hasOwn(COMMAND_OPTIONS, name);
  return {
    mode,
    all,
    settings: all.filter((one) => !isOfCommand(one)),
    command: valuesOf(COMMAND_OPTIONS, all.filter(isOfCommand)),
  };
}

function printConfig(configuration: Configuration, output: Output, terminal: Terminal): void {
  const { all, command } = configuration;
  const computed = computedValues(configuration, terminal);
  const printed = all
    .filter(({ name }) => name !== "printConfig" && name !== "json")
    .map((one) => (one.value === undefined ? { ...one, value: computed[one.name] } : one));
  const shown = shownSettings(printed);
  if (command.json) printJson(output, shown);
  else {
    const rows = shown.map((one) => [one.option, settingText(one), one.source]);
    output.print(tableText(["OPTION", "VALUE", "FROM"], rows));
  }
}

/** Defaults that depend on other options; those of the log are known even where the gateway could not start. */
function computedValues(
  { mode, settings, command }: Configuration,
  terminal: Terminal,
): Readonly<Record<string, unknown>> {
  const log = { logFormat: formatOf(mode, command, terminal) };
  try {
    const config = resolveConfig({ ...MODE_DEFAULTS[mode], ...plannedOptions(mode, settings) });
    const { connectPort, requestAckMs, allowPrivateFetch, extensions } = config;
    const { retentionCompletedMs, retentionFailedMs, logRuns } = config;
    const retention = { retentionCompletedMs, retentionFailedMs };
    // Of workers that offer extensions.
    const { leaseMs, heartbeatMs } = extensions.length > 0 ? EXTENDED_INTERVALS : PLAIN_INTERVALS;
    const sent = { leaseMs, heartbeatMs };
    return { ...log, logRuns, connectPort, requestAckMs, allowPrivateFetch, extensions, ...retention, ...sent };
  } catch (error) {
    if (HoldfastError.is(error)) return log;
    throw error;
  }
}

function showsLive({ mode, command }: Configuration, { env }: CommandContext, terminal: Terminal): boolean {
  const { isTTY, rows = 0 } = terminal;
  const format = formatOf(mode, command, terminal);
  return mode === "dev" && !command.json && wantsLive({ live: command.live, format, isTerminal: isTTY, rows, env });
}

function formatOf(mode: Mode, { logFormat }: ServeOptions, { isTTY }: Terminal): "pretty" | "json" {
  return logFormat ?? (mode === "dev" && isTTY ? "pretty" : "json");
}

/** A gateway that was asked to end as it started: it ends as others when it is there in a moment, else at once. */
function startedSoon(starting: Promise<Gateway | null>, isOwnPostgres: boolean): Promise<Gateway | null> {
  const late = sleep(systemTimers, isOwnPostgres ? GIVEN_UP_MS : START_PATIENCE_MS).then(() => null);
  return Promise.race([starting, late]);
}

interface Announcement {
  readonly configuration: Configuration;
  readonly options: GatewayOptions;
  readonly context: CommandContext;
  readonly log: Log;
  readonly script: string;
}

function announce(gateway: Gateway, { configuration, options, context, log, script }: Announcement): void {
  const { mode, settings, command } = configuration;
  const { url, port, connectUrl, connectPort } = gateway;
  if (command.json) {
    context.output.print(`${JSON.stringify({ ready: true, url, port, connectUrl, connectPort, pid: process.pid })}\n`);
    return;
  }
  if (mode === "start") {
    log("info", "Ready.", { version: VERSION, url, connectUrl });
    return;
  }
  const keys = settings.find(({ name }) => name === "keys")?.source;
  const file = keys?.type === "flag" ? context.flags.keys : undefined;
  const keysFlag = Array.isArray(file) ? `--keys ${file[0]}` : "";
  context.output.print(greeting({ gateway, options, program: program(context, script), keysFlag }));
}

function program({ env }: CommandContext, script: string): string {
  return invokedAs({
    script,
    node: process.execPath,
    cwd: process.cwd(),
    env,
    realPath: (path) => {
      try {
        return realpathSync(path);
      } catch {
        return undefined;
      }
    },
  });
}
