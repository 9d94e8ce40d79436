/** `fault`: lists, adds and removes what goes wrong at a gateway, and plays scripts of it. */
import { readFileSync } from "node:fs";
import { messageOf, nearestName, parseDurationMs, sleep, systemTimers } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { usage } from "../config/settings.ts";
import { FAULT_NAMES } from "../faults/rules/fault-kinds.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import type { FaultCommand } from "./command-spec.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { FAULT_ADD_OPTIONS, FAULT_HISTORY_OPTIONS } from "./fault-options.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { oneByOne } from "./one-by-one.ts";
import { printJson } from "./output.ts";
import { tableText } from "./table.ts";

interface ShownFault {
  readonly id: string;
  readonly what: string;
  readonly where: Readonly<Record<string, unknown>>;
  readonly fits: number;
  readonly happened: number;
  readonly isOver: boolean;
  readonly seed: number;
}

interface ShownHistory {
  readonly at: string;
  readonly faultId: string;
  readonly text: string;
  readonly functionId: string | null;
  readonly runId: string | null;
}

export async function runFaultCommand(name: FaultCommand, context: CommandContext): Promise<ExitCode> {
  switch (name) {
    case "fault":
      return listFaults(context);
    case "fault add":
      return addFault(context);
    case "fault clear":
      return clearFaults(context);
    case "fault history":
      return showFaultHistory(context);
    case "fault run":
      return playFaults(context);
  }
}

async function listFaults(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output } = context;
  const answer = await clientOf(context).get<{ readonly faults: readonly ShownFault[] }>("/v1/faults");
  if (json) printJson(output, answer);
  else if (answer.faults.length === 0) output.note("No fault was asked for.\n");
  else output.print(faultsText(answer.faults, output.isTerminal ? output.columns : 0));
  return EXIT.done;
}

async function addFault(context: CommandContext): Promise<ExitCode> {
  const {
    url: _,
    signingKey: _key,
    eventKey: _event,
    keys: _keys,
    env: _env,
    json,
    ...given
  } = readOptions(FAULT_ADD_OPTIONS, context);
  const { kind, direction, connection, function: functionId, step, run, operation, ...settings } = given;
  const [what = ""] = context.args;
  checkName(what);
  const where = {
    kind: list(kind),
    direction,
    connection,
    function: functionId,
    step,
    run,
    operation: list(operation),
  };
  const fault = await clientOf(context).post<ShownFault>("/v1/faults", {
    what,
    ...(Object.values(where).some((one) => one !== undefined) ? { where } : {}),
    ...settings,
  });
  const { output } = context;
  if (json) printJson(output, fault);
  else output.print(`${addedText(fault)}\n`);
  return EXIT.done;
}

async function clearFaults(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output, args } = context;
  const client = clientOf(context);
  if (args.length === 0) {
    const { cleared } = await client.delete<{ readonly cleared: number }>("/v1/faults");
    if (json) printJson(output, { cleared });
    else output.print(`${cleared} removed\n`);
    return EXIT.done;
  }
  await oneByOne(context, {
    json,
    work: async (id) => {
      await client.delete(`/v1/faults/${encodeURIComponent(id)}`);
      return id;
    },
    line: (id) => `${id}  removed`,
    whole: ({ length }) => ({ cleared: length }),
  });
  return EXIT.done;
}

async function showFaultHistory(context: CommandContext): Promise<ExitCode> {
  const { json, limit } = readOptions(FAULT_HISTORY_OPTIONS, context);
  const { output } = context;
  const path = `/v1/faults/history?limit=${limit}`;
  const answer = await clientOf(context).get<{ readonly history: readonly ShownHistory[] }>(path);
  if (json) printJson(output, answer);
  else if (answer.history.length === 0) output.note("No fault has done anything.\n");
  else {
    const rows = answer.history.map((one) => [one.at, one.faultId, one.text, one.functionId ?? "", one.runId ?? ""]);
    const columns = output.isTerminal ? output.columns : 0;
    output.print(tableText(["AT", "FAULT", "WHAT", "FUNCTION", "RUN"], rows, columns));
  }
  return EXIT.done;
}

async function playFaults(context: CommandContext): Promise<ExitCode> {
  const { json } = readOptions(CLIENT_OPTIONS, context);
  const { output, args } = context;
  const steps = readScript(args[0] ?? "");
  const client = clientOf(context);
  const added: ShownFault[] = [];
  for (const [index, step] of steps.entries()) {
    const text = await playStep(client, step, (fault) => added.push(fault));
    if (!json) output.print(`${index + 1}/${steps.length}  ${text}\n`);
  }
  if (json) printJson(output, { faults: added });
  return EXIT.done;
}

type ScriptStep =
  | { readonly do: "add"; readonly fault: object }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "clear" };

async function playStep(
  client: GatewayClient,
  step: ScriptStep,
  onAdded: (fault: ShownFault) => void,
): Promise<string> {
  switch (step.do) {
    case "add": {
      const fault = await client.post<ShownFault>("/v1/faults", step.fault);
      onAdded(fault);
      return addedText(fault);
    }
    case "wait":
      await sleep(systemTimers, step.ms);
      return `waited ${step.ms} ms`;
    case "clear": {
      const { cleared } = await client.delete<{ readonly cleared: number }>("/v1/faults");
      return `${cleared} removed`;
    }
  }
}

/** All of it is read before anything happens. */
function readScript(path: string): readonly ScriptStep[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8"));
  } catch (error) {
    throw usage(`The script ${path} cannot be read: ${messageOf(error)}`);
  }
  if (!Array.isArray(value) || value.length === 0) {
    throw usage(
      'A script is a JSON array of steps: [{ "add": { "what": "drop" } }, { "wait": "5s" }, { "clear": true }].',
    );
  }
  return value.map((step: unknown, index) => readStep(step, `Step ${index + 1} of the script`));
}

function readStep(step: unknown, what: string): ScriptStep {
  if (isRecord(step)) {
    const names = Object.keys(step);
    if (names.length === 1 && isRecord(step.add)) return { do: "add", fault: step.add };
    if (names.length === 1 && step.clear === true) return { do: "clear" };
    const { wait } = step;
    if (names.length === 1 && (typeof wait === "string" || typeof wait === "number")) {
      return { do: "wait", ms: parseDurationMs(wait, what) };
    }
  }
  throw usage(`${what} must be { "add": <fault> }, { "wait": "5s" } or { "clear": true }.`);
}

/** Said before anything is sent, as for every argument. */
function checkName(what: string): void {
  if (FAULT_NAMES.some((name) => name === what)) return;
  const near = nearestName(what, FAULT_NAMES);
  const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
  throw usage(`There is no fault "${what}".${hint} "holdfast-gateway fault add --help" lists all.`);
}

const list = (text: string | undefined): string[] | undefined =>
  text?.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));

const addedText = ({ id, what, seed, happened }: ShownFault): string =>
  `${id}  ${what}  seed ${seed}${happened > 0 ? `  happened ${happened} times` : ""}`;

function faultsText(faults: readonly ShownFault[], columns: number): string {
  const rows = faults.map((one) => [
    one.id,
    one.what,
    one.isOver ? "over" : "on",
    String(one.fits),
    String(one.happened),
    String(one.seed),
    Object.entries(one.where)
      .map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(",") : String(value)}`)
      .join(" "),
  ]);
  return tableText(["FAULT", "WHAT", "IS", "FIT", "HAPPENED", "SEED", "WHERE"], rows, columns);
}
