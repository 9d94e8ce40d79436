import { delimiter } from "node:path";
import { HoldfastError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { failureText } from "../../src/cli/failure-text.ts";
import { callableUrl, commandsOf, type GreetingFacts, greeting } from "../../src/cli/greeting.ts";
import { invokedAs } from "../../src/cli/invoked-as.ts";
import { prettyLine } from "../../src/cli/logger.ts";
import { printJson } from "../../src/cli/output.ts";
import { durationText, errorLine, runsText, runText, type ShownRunDetail } from "../../src/cli/run-text.ts";
import { tableText, visible } from "../../src/cli/table.ts";
import { type ShownWorker, workersText } from "../../src/cli/workers.ts";

const SIGNING_KEY = "signkey-test-00112233445566778899aabbccddeeff";

describe("Tables", () => {
  test("columns are as wide as their widest cell, and a line ends where the terminal does", () => {
    const rows = [
      ["1", "a long\nname"],
      ["22", "b"],
    ];
    expect(tableText(["ID", "NAME"], rows)).toBe("ID  NAME\n1   a long name\n22  b\n");
    expect(tableText(["ID", "NAME"], rows, 8)).toBe("ID  NAME\n1   a l…\n22  b\n");
  });

  test("what an app calls its things cannot send commands to a terminal", () => {
    const red = "\u001b[31mred\u0007\u009b2J";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(visible(red)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(tableText(["NAME"], [[red]])).toBe("NAME\n[31mred 2J\n");
  });

  test("names and messages in errors, in logs for people and in JSON on a terminal send no commands either", () => {
    const red = "\u001b[31mred\u009b2J";
    const error = new HoldfastError("NOT_FOUND", `There is no step ${red}.`);
    expect(failureText(error, { argv: [], env: {}, isTerminal: false })).toBe(
      "holdfast-gateway: There is no step  [31mred 2J. (NOT_FOUND)\n",
    );
    const record = { level: "info", time: "2027-01-31T09:00:00.000Z", msg: `Event ${red}`, event: `${red}\n09:00:01` };
    expect(prettyLine(JSON.stringify(record), false)).toBe(
      "09:00:00 info  Event  [31mred 2J  event=[31mred 2J 09:00:01\n",
    );
    const printed: string[] = [];
    const output = { print: (text: string) => void printed.push(text), note: () => {} };
    printJson({ ...output, isTerminal: true, showsProgress: true, columns: 80, colours: true }, { red });
    expect(printed.join("")).toBe(`{\n  "red": "\\u001b[31mred\\u009b2J"\n}\n`);
    expect(JSON.parse(printed.join(""))).toEqual({ red });
  });

  test("what an app calls its things cannot turn the direction of what follows", () => {
    const turned = "order-\u202egnp.exe\u2066 \u200f\u061c";
    expect(tableText(["NAME"], [[turned]])).toBe("NAME\norder-\ufffdgnp.exe\ufffd \ufffd\ufffd\n");
    // Scripts that are written from right to left, and joined characters, stay as they are.
    const fine = "\u05e9\u05dc\u05d5\u05dd \ud83d\udc69\u200d\ud83d\udcbb";
    expect(visible(fine)).toBe(fine);
  });
});

describe("The list of workers", () => {
  const worker = (instanceId: string, condition: ShownWorker["condition"]): ShownWorker => ({
    ...{ connectionId: "c", gatewayId: "g", instanceId, apps: ["shop@1"], status: "READY", queues: ["*"] },
    ...{ inFlight: condition === null ? null : 2, connectedAt: "then", condition },
  });
  const pool = { threads: 3, busy: 2, queued: 0 };
  const heard = { heartbeatMs: 10_000, silentMs: 9_000 };

  test("it says of each how its main thread and its pool of threads are, where that is known", () => {
    const workers = [
      worker("a", { ...heard, state: { mainLagMs: 0, isolation: pool } }),
      worker("b", { ...heard, state: { mainLagMs: 12_000, isolation: { threads: 3, busy: 3, queued: 4 } } }),
      worker("c", { ...heard, state: { mainLagMs: 0, isolation: { threads: 0, busy: 0, queued: 0 } } }),
      { ...worker("d", { ...heard, state: null }), status: "MAIN_BLOCKED" },
      worker("f", { heartbeatMs: 10_000, silentMs: 18_000, state: { mainLagMs: 0, isolation: pool } }),
      { ...worker("e", null), status: "SILENT", silentMs: 4_000 },
    ];
    expect(
      workersText(workers, 0)
        .split("\n")
        .map((line) => line.split(/ {2,}/).slice(0, 6)),
    ).toEqual([
      ["WORKER", "STATUS", "HAS", "MAIN", "POOL", "HEARD"],
      ["a", "ready", "2", "ok", "2/3", "-"],
      ["b", "ready", "2", `blocked ${durationText(12_000)}`, "3/3 +4", "-"],
      ["c", "ready", "2", "ok", "-", "-"],
      ["d", "main blocked", "2", "-", "-", "-"],
      ["f", "ready", "2", `silent ${durationText(18_000)}`, "2/3", "-"],
      ["e", "silent", "-", "-", "-", "4.0 s ago"],
      [""],
    ]);
  });
});

const RUN: ShownRunDetail = {
  id: "01RUN",
  functionId: "shop-order",
  environment: "default",
  appVersion: "v1",
  status: "FAILED",
  eventId: "01EVENT",
  eventName: "shop/order",
  output: null,
  error: {
    name: "PaymentDeclined",
    message: "no money",
    stack:
      "PaymentDeclined: no money\n    at charge (app.ts:1:1)\n" +
      "    at body (/app/node_modules/holdfast/dist/sdk.js:9:9)\n    at AsyncLocalStorage.run (node:async_hooks:346:14)",
  },
  createdMs: 0,
  startedMs: 1_000,
  endedMs: 3_500,
  maxAttempts: 3,
  waiting: null,
  steps: [
    {
      name: "charge",
      op: "StepRun",
      status: "failed",
      attempt: 2,
      failedAttempts: [{ attempt: 0, atMs: 1_000, error: { message: "first" } }],
      durationMs: 12,
      dueMs: null,
      error: { message: "last" },
    },
    {
      name: "reserve",
      op: "StepRun",
      status: "completed",
      attempt: 1,
      failedAttempts: [{ attempt: 0, atMs: 1_000, error: { message: "forgotten" } }],
      durationMs: 61_000,
      dueMs: null,
    },
  ],
};

test("a run shows its steps, attempts and the errors that count, with the stack", () => {
  const text = runText(RUN, 0);
  expect(text).toContain("status       failed\n");
  expect(text).toContain("took         2.5 s\n");
  expect(text).toMatch(/charge +run +failed +3 of 3 +12 ms/);
  expect(text).toMatch(/reserve +run +completed +2 of 3 +1 min 1 s/);
  expect(text).toContain('Error of the step "charge":\n  last\n');
  expect(text).toContain(
    "Error of the run:\n  PaymentDeclined: no money\n      at charge (app.ts:1:1)\n      … 2 frames",
  );
  expect(text).not.toContain("forgotten");
  expect(runsText([RUN], 0)).toContain(
    "01RUN  shop-order  failed  1970-01-01T00:00:00.000Z  2.5 s  PaymentDeclined: no money\n",
  );
  const graph = { id: "onboarding", tenant: "acme", version: 3, test: false };
  const runs = [
    { ...RUN, graph },
    { ...RUN, graph: { ...graph, tenant: "" } },
    { ...RUN, graph: null },
    { ...RUN, graph: { id: null, tenant: null, version: 2, test: false } },
    { ...RUN, graph: { id: null, tenant: null, version: null, test: true } },
  ];
  const named = runsText(runs, 0).split("\n");
  expect(named.map((line) => line.split(/ {2,}/)[2])).toEqual([
    ...["GRAPH", "acme/onboarding@3", "onboarding@3", "failed", "(deleted)@2", "(test)", undefined],
  ]);
  expect(runText({ ...RUN, graph, steps: [] }, 0)).toContain(
    "function     shop-order\ngraph        acme/onboarding@3\n",
  );
  expect(errorLine({ name: "Error", message: "a\nb" })).toBe("a b");
  const late = { name: "HoldfastError", message: "it ran for 5 ms", code: "ISOLATE_BUDGET" };
  expect(errorLine(late)).toBe("HoldfastError: it ran for 5 ms (ISOLATE_BUDGET)");
  expect(errorLine({ ...late, name: "ISOLATE_BUDGET" })).toBe("ISOLATE_BUDGET: it ran for 5 ms");
  const stack = "HoldfastError: it ran for 5 ms\n    at native\n    at sum (app.ts:7:1)";
  expect(runText({ ...RUN, steps: [], error: { ...late, stack } }, 0)).toContain(
    "Error of the run:\n  HoldfastError: it ran for 5 ms (ISOLATE_BUDGET)\n      … 1 frame of Node\n      at sum (app.ts:7:1)\n",
  );
  expect(durationText(7_200_000)).toBe("2.0 h");
});

test("steps are called what the methods of `step` are, and what no worker runs took from its beginning to its end", () => {
  const step = { attempt: 0, failedAttempts: [], durationMs: null, dueMs: null };
  const wait = { ...step, openedMs: 1_000, startedMs: null };
  const steps = [
    { ...wait, name: "nap", op: "Sleep", status: "completed", endedMs: 4_500 },
    { ...wait, name: "paid", op: "WaitForEvent", status: "completed", endedMs: 61_000 },
    { ...wait, name: "approval", op: "WaitForSignal", status: "waiting", endedMs: null, dueMs: 9_000 },
    { ...wait, name: "pack", op: "InvokeFunction", status: "completed", endedMs: 1_012 },
    { ...wait, name: "ask", op: "Gateway", status: "failed", openedMs: null, startedMs: 1_000, endedMs: 1_500 },
    { ...wait, name: "of a later version", op: "Other", status: "waiting", endedMs: null },
    // A gateway of an earlier version does not say when.
    { ...step, name: "old", op: "Sleep", status: "completed" },
  ];
  const text = runText({ ...RUN, error: null, steps, running: [{ name: "sum", sinceMs: 0 }] }, 0);
  const [, table = ""] = text.split("\n\n");
  expect(
    table
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ["STEP", "KIND", "STATUS", "ATTEMPT", "TOOK", "DUE"],
    ["nap", "sleep", "completed", "3.5 s"],
    ["paid", "waitForEvent", "completed", "1 min 0 s"],
    ["approval", "waitForSignal", "waiting", "1970-01-01T00:00:09.000Z"],
    ["pack", "invoke", "completed", "12 ms"],
    ["ask", "fetch", "failed", "500 ms"],
    ["of a later version", "Other", "waiting"],
    ["old", "sleep", "completed"],
    ["sum", "run", "running since 1970-01-01T00:00:00.000Z"],
  ]);
});

test("below an error is what it was caused by, and of an AggregateError its first few errors", () => {
  const cause = { name: "HoldfastError", message: "refused\nsee below", code: "EVENT_SEND_FAILED" };
  const stack = "TypeError: a\n    at charge (app.ts:1:1)\n    at body (/app/node_modules/holdfast/dist/sdk.js:9:9)";
  const errors = ["a", "b\u001b[2J", "c", "d", "e", "f"].map((message) => ({ name: "TypeError", message }));
  const error = {
    name: "AggregateError",
    message: "All promises were rejected",
    stack: "AggregateError: All promises were rejected",
    data: { errors: [{ ...errors[0], stack, cause }, ...errors.slice(1)] },
  };
  const [step] = RUN.steps.slice(0, 1).map((one) => ({ ...one, error }));
  if (!step) throw new Error("The run has a step.");
  expect(
    runText({ ...RUN, steps: [step], error }, 0)
      .split("Error of the")
      .slice(1),
  ).toEqual([
    [
      ' step "charge":',
      "  AggregateError: All promises were rejected",
      "    error 1: TypeError: a",
      "      at charge (app.ts:1:1)",
      "      … 1 frame of holdfast",
      "      caused by HoldfastError: refused (EVENT_SEND_FAILED)",
      "    error 2: TypeError: b [2J",
      "    error 3: TypeError: c",
      "    error 4: TypeError: d",
      "    error 5: TypeError: e",
      "    and 1 more error\n",
    ].join("\n"),
  ]);
});

test("a run that completed once it was resumed does not end with the error of before", () => {
  const before = { message: "The ship has sunk." };
  const [step] = RUN.steps.slice(0, 1).map((one) => ({ ...one, status: "completed", error: before }));
  if (!step) throw new Error("The run has a step.");
  const resumed: ShownRunDetail = { ...RUN, status: "COMPLETED", error: null, steps: [step] };
  expect(runText(resumed, 0)).not.toContain("Error of");
  expect(runText({ ...resumed, steps: [{ ...step, status: "retrying" }] }, 0)).toContain(
    'Error of the step "charge":\n  The ship has sunk.\n',
  );
});

test("a run of which the database had forgotten writes says when, how many, and whether they are there again", () => {
  const loss = (restored: number): string => runText({ ...RUN, commitsLost: [{ atMs: 0, writes: 3, restored }] }, 0);
  expect(loss(3)).toContain(
    "lost         COMMITS_LOST 1970-01-01T00:00:00.000Z: the database had forgotten 3 of its writes; all of them were restored\n",
  );
  expect(loss(1)).toContain("3 of its writes; 2 could not be restored, so steps may run again\n");
});

function facts(url: string, options: GreetingFacts["options"], keysFlag = ""): GreetingFacts {
  const gateway = {
    url,
    port: Number(new URL(url).port),
    connectUrl: `${url}/ws`,
    connectPort: 1,
    dashboardLink: () => `${url}/#link=abc`,
  };
  return { gateway, options, program: "npx holdfast-gateway", keysFlag };
}

describe("The greeting", () => {
  test("names commands for the address that can be called, with the program as the user calls it", () => {
    const plain = commandsOf(facts("http://127.0.0.1:8288", {}));
    expect(plain).toEqual({
      connect: "HOLDFAST_DEV=http://127.0.0.1:8288 node app.js",
      send: `curl http://127.0.0.1:8288/e/dev -d '{"name":"demo/hello","data":{}}'`,
      list: "npx holdfast-gateway runs",
    });
    const keys = { signingKey: SIGNING_KEY, eventKey: "event-key" };
    const wide = commandsOf(facts("http://0.0.0.0:8488", keys, "--keys keys.json"));
    expect(wide).toEqual({
      connect: "HOLDFAST_DEV=http://127.0.0.1:8488 node app.js",
      send: "npx holdfast-gateway send demo/hello --url http://127.0.0.1:8488 --keys keys.json",
      list: "npx holdfast-gateway runs --url http://127.0.0.1:8488 --keys keys.json",
    });
    expect(callableUrl({ url: "http://[::]:1", port: 1 })).toBe("http://[::1]:1");
  });

  test("says that keys are required without showing one", () => {
    const text = greeting(
      facts("http://0.0.0.0:8488", { signingKey: SIGNING_KEY, eventKey: "event-key", store: "memory" }),
    );
    expect(text).toContain("Keys are required");
    expect(text).toContain("memory (gone when this process ends)");
    for (const key of [SIGNING_KEY, "event-key"]) expect(text).not.toContain(key);
    expect(greeting(facts("http://127.0.0.1:8288", {}))).not.toContain("Keys");
  });
});

describe("The program is called as the user called it", () => {
  const links: Readonly<Record<string, string>> = {
    "/app/node_modules/.bin/holdfast-gateway": "/app/real/bin.js",
    "/global/holdfast-gateway": "/global/real/bin.js",
    "/cache/.bin/holdfast-gateway": "/cache/real/bin.js",
  };
  const call = (script: string, cwd: string, env: Record<string, string>): string =>
    invokedAs({
      script,
      cwd,
      env,
      node: "/usr/bin/node",
      realPath: (path) => links[path] ?? (path.endsWith(".js") ? path : undefined),
    });

  test.each([
    ["/app/node_modules/.bin/holdfast-gateway", "/app", { npm_command: "exec" }, "npx holdfast-gateway"],
    ["/cache/.bin/holdfast-gateway", "/app", { npm_command: "exec" }, "npx -p @holdfast/gateway holdfast-gateway"],
    ["/global/holdfast-gateway", "/app", { PATH: ["/bin", "/global"].join(delimiter) }, "holdfast-gateway"],
    ["/my folder/bin.js", "/app", { PATH: "/global" }, "/usr/bin/node '/my folder/bin.js'"],
  ])("%s in %s with %j", (script, cwd, env, expected) => {
    expect(call(script, cwd, env)).toBe(expected);
  });
});
