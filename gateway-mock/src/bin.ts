#!/usr/bin/env node
/** The program `holdfast-gateway`: reads the command line (`cli.ts`), starts a gateway, ends it on a signal. */
import { HoldfastError, type Log, messageOf, sleep, systemTimers } from "@holdfast/core";
import { type Command, parseCommand } from "./cli.ts";
import { HELP } from "./cli-help.ts";
import type { GatewayOptions, StoreName } from "./gateway-options.ts";
import { createLog } from "./logger.ts";
import { type Gateway, startGateway } from "./server.ts";
import { VERSION } from "./version.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const START_PATIENCE_MS = 3_000;

async function main(): Promise<void> {
  // The process that reads our output may be gone; that is no reason to die.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  const command = parseCommand(process.argv.slice(2), process.env);
  switch (command.type) {
    case "help":
      process.stdout.write(HELP);
      return;
    case "version":
      process.stdout.write(`${VERSION}\n`);
      return;
    case "dev":
      return dev(command);
  }
}

async function dev(command: Extract<Command, { type: "dev" }>): Promise<void> {
  const format = command.logFormat ?? (process.stderr.isTTY ? "pretty" : "json");
  const log = createLog(process.stderr, command.logLevel, format, process.stderr.isTTY === true);
  const stopping = stopRequests(log);
  const starting = startGateway({ ...command.options, log });
  // What has been started of a local Postgres ends with this process.
  const gateway = await Promise.race([starting, stopping.asked.then(() => startedSoon(starting))]);
  if (gateway === null) process.exit(0);
  process.stdout.write(command.json ? readyLine(gateway) : greeting(gateway, command));
  const failure = await Promise.race([stopping.asked, gateway.failed]);
  if (failure) {
    await gateway.close();
    throw failure;
  }
  log(
    "info",
    "Shutting down: workers are asked to reconnect elsewhere; replies are still accepted. A second signal stops immediately.",
  );
  await Promise.race([gateway.drain(), stopping.forced]);
  await gateway.close();
  process.exit(0);
}

/** A gateway that was asked to end as it started: it ends as others when it is there in a moment, else at once. */
function startedSoon(starting: Promise<Gateway>): Promise<Gateway | null> {
  const late = sleep(systemTimers, START_PATIENCE_MS).then(() => null);
  return Promise.race([starting, late]);
}

/** SIGINT, SIGTERM, and the end of a parent that holds an IPC channel. */
function stopRequests(log: Log): { asked: Promise<void>; forced: Promise<void> } {
  let count = 0;
  let ask = (): void => {};
  let force = (): void => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const forced = new Promise<void>((resolve) => {
    force = resolve;
  });
  const stop = (): void => {
    count += 1;
    ask();
    if (count === 2) force();
    if (count > 2) process.exit(EXIT_FAILED);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  if (process.send) process.on("disconnect", stop);
  const fatal = (error: unknown): void => {
    log(
      "error",
      `Unexpected: ${messageOf(error)}`,
      error instanceof Error && error.stack ? { stack: error.stack } : undefined,
    );
    process.exitCode = EXIT_FAILED;
  };
  process.on("unhandledRejection", fatal);
  process.on("uncaughtException", (error) => {
    fatal(error);
    process.exit(EXIT_FAILED);
  });
  return { asked, forced };
}

function readyLine(gateway: Gateway): string {
  const { url, port, connectUrl, connectPort } = gateway;
  return `${JSON.stringify({ ready: true, url, port, connectUrl, connectPort, pid: process.pid })}\n`;
}

/** The line about the store that a terminal shows at start. */
const STORE_TEXTS: Readonly<Record<StoreName, (options: GatewayOptions) => string>> = {
  postgres: ({ databaseUrl, dataDir = ".holdfast" }) =>
    databaseUrl === undefined ? `embedded Postgres in ${dataDir}` : "your Postgres",
  memory: () => "memory (gone when this process ends)",
};

function greeting(gateway: Gateway, { options }: Extract<Command, { type: "dev" }>): string {
  return `
  Holdfast gateway ${VERSION}

  HTTP       ${gateway.url}
  WebSocket  ${gateway.connectUrl}
  Store      ${STORE_TEXTS[options.store ?? "postgres"](options)}

  Connect an app:   HOLDFAST_DEV=${gateway.url} node app.js
  Send an event:    curl ${gateway.url}/e/dev -d '{"name":"demo/hello","data":{}}'
  List the runs:    curl ${gateway.url}/v1/runs

`;
}

main().catch((error: unknown) => {
  const sentence = HoldfastError.is(error) ? `${error.message} (${error.code})` : `Unexpected: ${messageOf(error)}`;
  process.stderr.write(`holdfast-gateway: ${sentence}\n`);
  process.exit(HoldfastError.is(error) && error.code === "GATEWAY_USAGE" ? EXIT_USAGE : EXIT_FAILED);
});
