import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../src/processes.mjs";
import { root, tool } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

const config = join(root, ".dependency-cruiser.cjs");
const rules: { name: string }[] = createRequire(import.meta.url)(config).forbidden;

/** Dependencies that the real packages have; in the fixture they are empty packages of the same names. */
const npmNames = ["ws", "ulid", "hono", "postgres", "protobufjs", "pino", "@opentelemetry/api"];
/** The rooms of each wing, the lowest first. */
const WINGS = {
  engine: ["packages/engine/src", ["json", "expressions", "flow", "run", "decide"]],
  store: ["packages/store/src", ["port", "rules", "memory"]],
  sdk: [
    "packages/sdk/src",
    [
      "diagnostics",
      "telemetry",
      "events",
      "steps",
      "runs",
      "operate",
      "functions",
      "execution",
      "isolation",
      "function-test",
      "app",
    ],
  ],
  isolation: ["packages/sdk/src/isolation", ["shared", "machines", "main", "thread"]],
  graph: [
    "packages/graph/src",
    [
      "json",
      "templates",
      "definition",
      "interpret",
      "nodes",
      "status",
      "run",
      "sandbox",
      "client",
      "render",
      "react-flow",
    ],
  ],
  dispatch: ["gateway-mock/src/dispatch", ["registry", "workers", "admission", "graphs", "events", "queue", "repair"]],
  "store-postgres": ["gateway-mock/src/store-postgres", ["connection", "changes", "writer", "queue", "repair"]],
} as const;
const fileOf = (label: keyof typeof WINGS, room: string): string => `${WINGS[label][0]}/${room}/a.ts`;
const labels = Object.keys(WINGS) as (keyof typeof WINGS)[];

const workspaceNames: Record<string, string> = {
  "@holdfast/core": "packages/core",
  "@holdfast/protocol": "packages/protocol",
  "@holdfast/store": "packages/store",
  "@holdfast/engine": "packages/engine",
  "@holdfast/postgres-server": "packages/postgres-server",
  "@holdfast/testing": "packages/testing",
  "@holdfast/graph": "packages/graph",
  "@holdfast/gateway": "gateway-mock",
  holdfast: "packages/sdk",
};

/** A small tree that keeps every rule. */
const clean: Record<string, string> = {
  "gateway-mock/src/faults/faults.ts": "export {};",
  "gateway-mock/src/faults/rules/a.ts": "export {};",
  "packages/core/src/index.ts": 'export { now } from "./clock.ts";\nexport { a } from "./a.ts";',
  "packages/core/src/a.ts": 'import { ulid } from "ulid";\nexport const a = ulid;',
  "packages/core/src/b.ts": 'import { a } from "./a.ts";\nexport const b = a;',
  "packages/core/src/clock.ts": 'import { performance } from "node:perf_hooks";\nexport const now = performance;',
  "packages/protocol/src/index.ts": 'export { codec } from "./codec.ts";',
  "packages/protocol/src/codec.ts":
    'import { a } from "@holdfast/core";\nimport { wire } from "./generated/connect.ts";\nexport const codec = [a, wire];',
  "packages/protocol/src/generated/connect.ts": "export const wire = 1;",
  "packages/postgres-server/src/index.ts": 'import postgres from "postgres";\nexport const server = postgres;',
  "packages/testing/src/index.ts":
    'import { server } from "@holdfast/postgres-server";\nimport { WebSocket } from "ws";\nexport const parts = [server, WebSocket];',
  "packages/tooling/src/vitest-base.ts": "export const limits = 1;",
  "packages/sdk/src/index.ts":
    'import { main } from "./connection/main/main.ts";\nimport { fn } from "./functions/fn.ts";\nexport const sdk = [main, fn];',
  "packages/sdk/src/functions/fn.ts": 'import { a } from "@holdfast/core";\nexport const fn = a;',
  "packages/sdk/src/connection/shared/messages.ts":
    'import { codec } from "@holdfast/protocol";\nexport const messages = codec;',
  "packages/sdk/src/connection/machines/link-machine.ts":
    'import { messages } from "../shared/messages.ts";\nexport const link = messages;',
  "packages/sdk/src/connection/thread/run.ts":
    'import { WebSocket } from "ws";\nimport { link } from "../machines/link-machine.ts";\nexport const run = [WebSocket, link];',
  "packages/sdk/src/connection/main/main.ts":
    'import type { Worker } from "node:worker_threads";\nimport { link } from "../machines/link-machine.ts";\nexport const main: Worker = link;',
  "packages/sdk/src/telemetry/tracing.ts": "export const tracing = 1;",
  "packages/sdk/src/opentelemetry.ts":
    'import { trace } from "@opentelemetry/api";\nimport { tracing } from "./telemetry/tracing.ts";\nexport const otel = [trace, tracing];',
  "gateway-mock/src/telemetry/span-export.ts":
    'import { trace } from "@opentelemetry/api";\nimport type { dispatcher } from "../dispatch/index.ts";\nexport const spans = (made: typeof dispatcher) => [trace, made];',
  "packages/sdk/src/isolate-thread.ts": 'import { a } from "./isolation/thread/a.ts";\nexport const thread = a;',
  "packages/sdk/src/connect-thread.ts": 'import { run } from "./connection/thread/run.ts";\nexport const thread = run;',
  "packages/store/src/index.ts": 'export type { Store } from "./port/store.ts";',
  "packages/store/src/port/store.ts": "export type Store = string;",
  "packages/store/src/store.ts": 'import { a } from "@holdfast/core";\nexport const store = a;',
  "packages/engine/src/index.ts": 'export { decide } from "./engine.ts";',
  "packages/engine/src/engine.ts":
    'import type { Store } from "@holdfast/store";\nexport const decide = (store: Store) => store;',
  "packages/graph/src/index.ts": 'export { a } from "./definition.ts";',
  "packages/graph/src/definition.ts": 'export { a } from "./definition/a.ts";',
  "gateway-mock/src/index.ts": 'import { dispatcher } from "./dispatch/index.ts";\nexport const gateway = dispatcher;',
  "gateway-mock/dashboard/src/main.ts": "export const page = 1;",
  "gateway-mock/src/dispatch/index.ts": 'export { dispatcher } from "./dispatcher.ts";',
  "gateway-mock/src/dispatch/dispatcher.ts":
    'import { decide } from "@holdfast/engine";\nimport { step } from "./run-machine.ts";\nexport const dispatcher = [step, decide];',
  "gateway-mock/src/dispatch/run-machine.ts": 'import { a } from "@holdfast/core";\nexport const step = a;',
  "gateway-mock/src/store-postgres/index.ts": 'export { store } from "./store.ts";',
  "gateway-mock/src/store-postgres/store.ts": 'import postgres from "postgres";\nexport const store = postgres;',
  ...Object.fromEntries(
    labels.flatMap((label) => WINGS[label][1].map((room) => [fileOf(label, room), "export const a = 1;"])),
  ),
  "gateway-mock/src/http/server.ts": 'import { Hono } from "hono";\nexport const http = Hono;',
  "gateway-mock/src/postgres.ts":
    'import { server } from "@holdfast/postgres-server";\nexport const postgres = server;',
  "e2e/sim/src/world.ts":
    'import { dispatcher } from "../../../gateway-mock/src/dispatch/dispatcher.ts";\nexport const world = dispatcher;',
  "e2e/run.test.ts":
    'import { sdk } from "holdfast";\nimport { parts } from "@holdfast/testing";\nexport const e = [sdk, parts];',
};

/** @returns a violation for each room: it imports the next one, the last one the file above them all */
function plantedAbove(label: keyof typeof WINGS, top: string): Record<string, [string, string]> {
  const rooms: readonly string[] = WINGS[label][1];
  const imported = [...rooms.slice(1).map((room) => `../${room}/a.ts`), top];
  return Object.fromEntries(
    rooms.map((room, index) => [`${label}-${room}`, [fileOf(label, room), `import "${imported[index]}";`]]),
  );
}

/** One planted violation a rule: a file, and the line that breaks it. */
const planted: Record<string, [file: string, line: string]> = {
  "no-cycles": ["packages/core/src/a.ts", 'import type { b } from "./b.ts";'],
  resolvable: ["packages/core/src/a.ts", 'import "./nowhere.ts";'],
  declared: ["packages/testing/src/index.ts", 'import "pino";'],
  "no-tests-in-sources": ["packages/sdk/src/index.ts", 'import "../test/helper.ts";'],
  "pure-no-node": ["packages/sdk/src/connection/machines/link-machine.ts", 'import "node:net";'],
  "pure-no-npm": ["gateway-mock/src/dispatch/run-machine.ts", 'import "hono";'],
  "machines-import-pure-files": ["gateway-mock/src/dispatch/run-machine.ts", 'import "../store-postgres/store.ts";'],
  "core-imports-nothing": ["packages/core/src/a.ts", 'import "@holdfast/protocol";'],
  "core-npm": ["packages/core/src/clock.ts", 'import "ws";'],
  "protocol-imports-core": ["packages/protocol/src/codec.ts", 'import "@holdfast/postgres-server";'],
  "protocol-npm": ["packages/protocol/src/codec.ts", 'import "ws";'],
  "generated-only-in-codec": ["packages/protocol/src/index.ts", 'import "./generated/connect.ts";'],
  "packages-by-their-entry": ["packages/sdk/src/index.ts", 'import "../../core/src/a.ts";'],
  "postgres-server-imports-core": ["packages/postgres-server/src/index.ts", 'import "@holdfast/protocol";'],
  "postgres-server-npm": ["packages/postgres-server/src/index.ts", 'import "ws";'],
  "sdk-shared-imports-core-protocol": [
    "packages/sdk/src/connection/shared/messages.ts",
    'import "../machines/link-machine.ts";',
  ],
  "sdk-link-core-imports": ["packages/sdk/src/connection/machines/link-machine.ts", 'import "../thread/run.ts";'],
  "sdk-thread-imports": ["packages/sdk/src/connection/thread/run.ts", 'import "../../functions/fn.ts";'],
  "sdk-main-imports": ["packages/sdk/src/connection/main/main.ts", 'import "../thread/run.ts";'],
  "sdk-looks-node-up": ["packages/sdk/src/functions/fn.ts", 'import "node:os";'],
  "sdk-thread-entry": ["packages/sdk/src/connect-thread.ts", 'import "./functions/fn.ts";'],
  "sdk-in-memory-imports": ["packages/sdk/src/connection/in-memory/a.ts", 'import "../thread/run.ts";'],
  "sdk-connection-pool-thread-imports": ["packages/sdk/src/connection/pool-thread/a.ts", 'import "../thread/run.ts";'],
  "sdk-pool-thread-entry": ["packages/sdk/src/isolate-thread.ts", 'import "./functions/fn.ts";'],
  "sdk-opentelemetry-npm": ["packages/sdk/src/opentelemetry.ts", 'import "ws";'],
  "sdk-opentelemetry-imports": ["packages/sdk/src/opentelemetry.ts", 'import "./functions/fn.ts";'],
  "gateway-opentelemetry": ["gateway-mock/src/dispatch/dispatcher.ts", 'import "@opentelemetry/api";'],
  "gateway-telemetry-imports": ["gateway-mock/src/telemetry/span-export.ts", 'import "../http/server.ts";'],
  "sdk-npm": ["packages/sdk/src/connection/main/main.ts", 'import "ws";'],
  "sdk-thread-npm": ["packages/sdk/src/connection/thread/run.ts", 'import "hono";'],
  "sdk-stands-alone": ["packages/sdk/src/index.ts", 'import "@holdfast/testing";'],
  "function-test-shares-sdk": ["packages/sdk/src/function-test/a.ts", 'import "../functions/fn.ts";'],
  "function-test-in-testing": ["packages/sdk/src/index.ts", 'import "@holdfast/engine";'],
  "testing-imports": ["packages/testing/src/index.ts", 'import "holdfast";'],
  "gateway-imports": ["gateway-mock/src/index.ts", 'import "holdfast";'],
  "gateway-postgres-server": ["gateway-mock/src/dispatch/dispatcher.ts", 'import "@holdfast/postgres-server";'],
  "sql-only-in-store": ["gateway-mock/src/http/server.ts", 'import "postgres";'],
  "dashboard-stands-alone": ["gateway-mock/dashboard/src/main.ts", 'import "@holdfast/store";'],
  "dashboard-npm": ["gateway-mock/dashboard/src/main.ts", 'import "ws";'],
  "dashboard-apart": ["gateway-mock/src/http/server.ts", 'import "../../dashboard/src/main.ts";'],
  "store-imports-core": ["packages/store/src/store.ts", 'import "@holdfast/protocol";'],
  "store-npm": ["packages/store/src/store.ts", 'import "ws";'],
  "engine-imports": ["packages/engine/src/engine.ts", 'import "@holdfast/postgres-server";'],
  "engine-npm": ["packages/engine/src/engine.ts", 'import "ws";'],
  "graph-imports": ["packages/graph/src/index.ts", 'import "@holdfast/protocol";'],
  "graph-definition-without-sdk": ["packages/graph/src/definition.ts", 'import "holdfast";'],
  "graph-npm": ["packages/graph/src/index.ts", 'import "ws";'],
  "stores-stand-alone": ["gateway-mock/src/store-sqlite/index.ts", 'import "../store-postgres/store.ts";'],
  "one-opens-a-store": ["gateway-mock/src/http/server.ts", 'import "../store-postgres/index.ts";'],
  "dispatch-behind-ports": ["gateway-mock/src/dispatch/dispatcher.ts", 'import "../http/server.ts";'],
  "gateway-fault-rules": ["gateway-mock/src/faults/rules/a.ts", 'import "../../http/server.ts";'],
  "faults-at-the-edges": ["gateway-mock/src/dispatch/dispatcher.ts", 'import "../faults/faults.ts";'],
  "dispatch-by-its-door": ["gateway-mock/src/http/server.ts", 'import "../dispatch/dispatcher.ts";'],
  "stores-by-their-door": ["gateway-mock/src/open-store.ts", 'import "./store-postgres/store.ts";'],
  ...plantedAbove("engine", "../engine.ts"),
  ...plantedAbove("store", "../store.ts"),
  ...plantedAbove("sdk", "../index.ts"),
  ...plantedAbove("isolation", "../main/a.ts"),
  ...plantedAbove("graph", "../index.ts"),
  ...plantedAbove("dispatch", "../dispatcher.ts"),
  ...plantedAbove("store-postgres", "../store.ts"),
  "simulation-imports": ["e2e/sim/src/world.ts", 'import "../../run.test.ts";'],
  "e2e-imports": ["e2e/run.test.ts", 'import "../packages/core/src/index.ts";'],
};

async function cruise(files: Record<string, string>): Promise<{ rule: string; from: string }[]> {
  const manifests = Object.entries(workspaceNames).map(([name, path]) => {
    const dependencies = Object.fromEntries([...npmNames, ...Object.keys(workspaceNames)].map((each) => [each, "*"]));
    if (name === "@holdfast/testing") delete dependencies.pino;
    return [`${path}/package.json`, JSON.stringify({ name, type: "module", exports: "./src/index.ts", dependencies })];
  });
  const installed = npmNames.flatMap((name) => [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" })],
    [`node_modules/${name}/index.js`, "export {};"],
  ]);
  const dependencies = Object.fromEntries(Object.keys(workspaceNames).map((name) => [name, "*"]));
  const folder = fixture(
    {
      ...files,
      "packages/sdk/test/helper.ts": "export {};",
      "e2e/package.json": JSON.stringify({ name: "@holdfast/e2e", dependencies }),
      ...Object.fromEntries([...manifests, ...installed]),
    },
    Object.fromEntries(
      Object.entries(workspaceNames).map(([name, path]) => [
        `node_modules/${name}`,
        join(name.includes("/") ? "../.." : "..", path),
      ]),
    ),
  );
  const args = [tool("dependency-cruiser/bin/dependency-cruise.mjs"), "--config", config, "--output-type", "json"];
  const { output } = await run(process.execPath, [...args, "packages", "gateway-mock", "e2e"], {
    cwd: folder,
    output: "collect",
  });
  const report: { summary: { violations: { rule: { name: string }; from: string }[] } } = JSON.parse(output);
  return report.summary.violations.map(({ rule, from }) => ({ rule: rule.name, from }));
}

test("a tree that keeps the import rules passes", async () => {
  expect(await cruise(clean)).toEqual([]);
});

test("every import rule has a planted violation, and each is found", async () => {
  expect(Object.keys(planted).sort()).toEqual(rules.map(({ name }) => name).sort());
  const broken = { ...clean };
  for (const [file, line] of Object.values(planted)) broken[file] = `${line}\n${broken[file]}`;
  const found = await cruise(broken);
  const missed = Object.entries(planted).filter(
    ([rule, [from]]) => !found.some((violation) => violation.rule === rule && violation.from === from),
  );
  expect(missed).toEqual([]);
});
