/** What `doctor` looks at on this machine: Node, open files, ports, keys. */
import { createServer } from "node:net";
import { messageOf } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import type { GatewayOptions } from "../../config/gateway-options.ts";
import { readGatewayKeys } from "../../config/keys-config.ts";
import { productionProblems } from "../../config/modes.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** Files that a gateway has open without workers. */
const OWN_FILES = 200;

export function machineChecks(maxWorkers: number): Check[] {
  const files = openFiles();
  const node = ok("node", `${process.versions.node} on ${process.platform} ${process.arch}`);
  if (files === undefined) return [node];
  const told = `${files} files may be open, for up to ${maxWorkers} workers`;
  const fix = `raise the limit (ulimit -n ${maxWorkers + OWN_FILES}), or lower --max-workers`;
  return [node, files >= maxWorkers + OWN_FILES ? ok("files", told) : warn("files", told, fix)];
}

/** Where Node can tell. */
function openFiles(): number | undefined {
  const report: unknown = process.report.getReport();
  const limits = isRecord(report) && isRecord(report.userLimits) ? report.userLimits : {};
  const files = isRecord(limits.open_files) ? limits.open_files.soft : undefined;
  return typeof files === "number" ? files : undefined;
}

export function keyChecks(options: GatewayOptions): Check[] {
  try {
    const { signingKeys, eventKeys } = readGatewayKeys(options);
    const told = `${counted(signingKeys.length, "signing key")}, ${counted(eventKeys.length, "event key")}`;
    if (signingKeys.length > 0 && eventKeys.length > 0) return [ok("keys", told)];
    const fix = 'make some with "holdfast-gateway keys create", and set HOLDFAST_SIGNING_KEY and HOLDFAST_EVENT_KEY';
    return [warn("keys", `${told}: "dev" needs none on this machine, "start" needs both`, fix)];
  } catch (error) {
    return [fail("keys", messageOf(error), 'make new ones with "holdfast-gateway keys create"')];
  }
}

const counted = (count: number, what: string): string =>
  count === 1 ? `1 ${what}` : `${count === 0 ? "no" : count} ${what}s`;

/** What `start` would say. */
export function startCheck(options: GatewayOptions): Check {
  const problems = productionProblems(options, []);
  if (problems.length === 0) return ok("start", '"start" has what it needs');
  return warn(
    "start",
    `"start" needs ${problems.map((one) => one.split(":")[0]).join(", ")}`,
    '"dev" needs none of it',
  );
}

/** Undefined: the port is free; else why it cannot be listened on. */
export function portProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
