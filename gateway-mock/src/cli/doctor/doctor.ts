/** `doctor`: looks at everything that a gateway stands on, sends one run through one, and says how to fix what is wrong. */
import { HoldfastError } from "@holdfast/core";
import { readGatewayFile } from "../../config/config-file.ts";
import type { GatewayOptions } from "../../config/gateway-options.ts";
import { gatewayRows } from "../../config/modes.ts";
import { GATEWAY_OPTIONS } from "../../config/option-table.ts";
import { givenValues, readSettings, valuesOf } from "../../config/settings.ts";
import { loadPostgresTools } from "../../open-store.ts";
import { startGateway } from "../../server.ts";
import { type CommandContext, readOptions } from "../context.ts";
import { DOCTOR_OPTIONS } from "../doctor-options.ts";
import type { ExitCode } from "../exit-codes.ts";
import { type GatewayClient, gatewayClient } from "../gateway-client.ts";
import { callableUrl } from "../greeting.ts";
import { type Output, printJson } from "../output.ts";
import { withProgress } from "../progress.ts";
import { visible } from "../table.ts";
import { type Check, exitCodeOfChecks, fail, failed, ok, skipped, warn } from "./check.ts";
import { databaseChecks, databaseFix } from "./database-checks.ts";
import { keyChecks, machineChecks, portProblem, startCheck } from "./local-checks.ts";
import { type Ready, readyChecks } from "./ready-checks.ts";
import { roundTripChecks } from "./round-trip.ts";

/** A gateway answers at once; another program may never do. */
const HEALTH_MS = 2_000;

type Report = (checks: readonly Check[]) => void;

export async function doctor(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  const command = readOptions(DOCTOR_OPTIONS, context);
  const checks: Check[] = [];
  const report: Report = (more) => {
    checks.push(...more);
    if (!command.json) output.print(more.map(checkText).join(""));
  };
  const settings = readSettings(gatewayRows(), { ...context, file: readGatewayFile(command.config) });
  const options: GatewayOptions = givenValues(settings);
  const { maxWorkers, maxConnections, host, port } = valuesOf(
    GATEWAY_OPTIONS,
    settings.filter(({ name }) => name !== "log"),
  );
  report([...machineChecks(maxWorkers), ...keyChecks(options), startCheck(options)]);
  const local = await portChecks(context, options, { host, port });
  if (command.url === undefined) report(local.checks);
  const isMigrated = await schemaAndDatabase(options, maxConnections, { output, report });
  if (command.roundTrip) {
    const url = command.url ?? local.gatewayUrl;
    const trip = { context, options, output };
    report(url === undefined ? await throughOwnGateway(trip, isMigrated) : await throughGateway(trip, url));
  }
  const isFine = checks.every(({ status }) => status !== "fail");
  if (command.json) printJson(output, { ok: isFine, checks });
  else output.print(summary(checks));
  return exitCodeOfChecks(checks);
}

/** Ports that are free, or that a gateway has which runs here already. */
async function portChecks(
  context: CommandContext,
  options: GatewayOptions,
  { host, port }: { host: string; port: number },
): Promise<{ readonly checks: readonly Check[]; readonly gatewayUrl?: string }> {
  const flag = "stop that program, or choose another port with --port";
  if (port === 0) return { checks: [] };
  const problem = await portProblem(host, port);
  if (problem !== undefined && problem !== "EADDRINUSE") {
    return { checks: [fail("port", `${port} on ${host} cannot be listened on: ${problem}`, flag)] };
  }
  if (problem === undefined) {
    const second = options.connectPort ?? port + 1;
    const other = second === 0 ? undefined : await portProblem(host, second);
    const text = `${port} and ${second} on ${host} are free`;
    return {
      checks: [
        other === undefined
          ? ok("port", text)
          : fail("port", `${second} on ${host}: ${other}`, flag.replace("--port", "--connect-port")),
      ],
    };
  }
  const url = callableUrl({ url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`, port });
  const asked = gatewayClient({ url, timeoutMs: HEALTH_MS });
  const running = await withProgress(
    context.output,
    () => `Asking what has port ${port} …`,
    () => healthOf(asked),
  );
  if (running === null) return { checks: [fail("port", `another program has port ${port} on ${host}`, flag)] };
  return { checks: [ok("port", `a gateway (version ${running}) runs at ${url}`)], gatewayUrl: url };
}

/** The version of the gateway; null: it is none. */
async function healthOf(client: GatewayClient): Promise<string | null> {
  try {
    const { version } = await client.get<{ version?: unknown }>("/health");
    return typeof version === "string" ? version : null;
  } catch {
    return null;
  }
}

function clientFor(context: CommandContext, options: GatewayOptions, url: string): GatewayClient {
  const { env: environment } = readOptions({ env: DOCTOR_OPTIONS.env }, context);
  const { signingKey, eventKey, keys } = options;
  return gatewayClient({ url, signingKey, eventKey, keys, env: environment });
}

interface Reporting {
  readonly output: Output;
  readonly report: Report;
}

/** Whether a gateway of this version could work on the database at once; undefined: none is named. */
async function schemaAndDatabase(
  { databaseUrl }: GatewayOptions,
  maxConnections: number,
  { output, report }: Reporting,
): Promise<boolean | undefined> {
  if (databaseUrl === undefined || databaseUrl === "") {
    report([skipped("database", 'none is named (HOLDFAST_DATABASE_URL): "dev" starts a Postgres of its own')]);
    return undefined;
  }
  const { readSchemaState, readServerFacts } = await loadPostgresTools();
  try {
    const facts = await withProgress(
      output,
      () => "Asking the database …",
      () => readServerFacts(databaseUrl),
    );
    const found = databaseChecks(facts, maxConnections);
    report(found);
    const isSound = found.every(({ status }) => status !== "fail");
    // The schema is read over a connection like a gateway's.
    if (facts.refusedSettings !== null) return false;
    const { version, known, pending } = await readSchemaState(databaseUrl);
    if (version > known) {
      const fix = "use that version of the gateway, or a newer one";
      report([fail("schema", `version ${version} is of a newer gateway; this one knows up to ${known}`, fix)]);
    } else if (pending.length > 0) {
      const fix = '"holdfast-gateway migrate" applies them; so does a gateway when it starts';
      report([warn("schema", `${pending.length} migrations are to be applied (version ${version} of ${known})`, fix)]);
    } else {
      report([ok("schema", `up to date (version ${version})`)]);
      return isSound;
    }
  } catch (error) {
    report([failed("database", error, databaseFix(error))]);
  }
  return false;
}

interface Trip {
  readonly context: CommandContext;
  readonly options: GatewayOptions;
  readonly output: Output;
}

async function throughGateway({ context, options, output }: Trip, url: string): Promise<readonly Check[]> {
  const { env: environment } = readOptions({ env: DOCTOR_OPTIONS.env }, context);
  const client = clientFor(context, options, url);
  return withProgress(
    output,
    () => `Sending a run through ${url} …`,
    async () => {
      let met: readonly Check[];
      try {
        met = readyChecks(await client.get<Ready>("/ready"));
      } catch (error) {
        const fix =
          HoldfastError.is(error) && error.code === "GATEWAY_UNREACHABLE" ? "check --url" : "see the gateway's log";
        return [failed("gateway", error, fix)];
      }
      return [...met, ...(await roundTripChecks({ client, environment, output }))];
    },
  );
}

/** No gateway runs: one is started for this, on the named database or on a Postgres that is gone afterwards. */
async function throughOwnGateway(trip: Trip, isUsable: boolean | undefined): Promise<readonly Check[]> {
  if (isUsable === false) return [skipped("round trip", "the database is not ready for it")];
  const { signingKey, signingKeyFallback, eventKey, keys, databaseUrl, maxConnections } = trip.options;
  const own = { signingKey, signingKeyFallback, eventKey, keys, maxConnections, databaseUrl };
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined && value !== ""));
  const place = isUsable === undefined ? { keepData: false } : {};
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  try {
    gateway = await withProgress(
      trip.output,
      () => "Starting a gateway …",
      () => startGateway({ ...given, ...place, port: 0, connectPort: 0, drainMs: 0 }),
    );
  } catch (error) {
    return [failed("gateway", error, "see the message; docs/errors.md explains its code")];
  }
  try {
    const on = isUsable === undefined ? "a Postgres of its own" : "the database";
    return [ok("gateway", `one starts here, on ${on}`), ...(await throughGateway(trip, gateway.url))];
  } finally {
    await gateway.close();
  }
}

const MARKS = { ok: "ok     ", warn: "warn   ", fail: "FAIL   ", skipped: "skipped" } as const;
const INDENT = " ".repeat(22);

function checkText({ name, status, message, fix }: Check): string {
  const line = `${MARKS[status]}  ${name.padEnd(13)}${visible(message)}\n`;
  return fix === undefined ? line : `${line}${INDENT}fix: ${visible(fix)}\n`;
}

function summary(checks: readonly Check[]): string {
  const count = (status: Check["status"]): number => checks.filter((one) => one.status === status).length;
  return `\n${count("ok")} ok, ${count("warn")} to look at, ${count("fail")} failed\n`;
}
