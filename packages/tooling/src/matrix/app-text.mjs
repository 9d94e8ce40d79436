/**
 * The app that every environment of the matrix runs, as a user writes one: four modules, in TypeScript or JavaScript.
 *
 * It connects, runs steps, blocks its main thread for longer than its lease in one of them, runs the body of a step and
 * a whole handler in threads of the pool, fails on main and in such a thread, closes, and has to end by itself then. A
 * subscriber and a callback that throw are to harm nothing. Its last line says what to look for at the gateway.
 */

/**
 * @typedef {object} Dialect
 * @property {"ts" | "mts" | "mjs" | "cjs"} extension
 * @property {boolean} [enums] whether to use syntax that cannot merely be stripped
 */

/** What the app's last line begins with. */
export const RESULT_MARK = "MATRIX ";

/**
 * @param {Dialect} dialect
 * @returns {Record<string, string>} file name -> text
 */
export function appFiles({ extension, enums = false }) {
  const types = extension === "ts" || extension === "mts";
  const typed = (/** @type {string} */ text) => (types ? text : "");
  const orders = ordersText({ extension, enums });
  const compute = computeText({ extension });
  const app = `import { subscribe } from "node:diagnostics_channel";
import { threadId } from "node:worker_threads";
import { Holdfast } from "holdfast";
import { connect } from "holdfast/connect";
import { refuse, square } from "./compute.${extension}";
import { refuseOrder, Size } from "./orders.${extension}";

${typed("interface Calls { one: number; block: number; two: number; heard: number; connected: number }\ninterface Line { text: string; function?: string; run?: string; step?: string }\n")}
export async function runApp(agentModule${typed(": URL | string")}) {
  const tag = process.env.MATRIX_CELL + "." + process.pid;
  const lines${typed(": Line[]")} = [];
  const info = (data${typed(": object | string")}, text${typed(': string = ""')}) => {
    if (!/^(square|agent) /.test(text)) return;
    lines.push({ text, ...(data${typed(" as object")}) });
    if (text === "agent is done") ended.agent();
  };
  const logger = { debug() {}, info, warn: console.warn, error: console.error };
  const client = new Holdfast({ id: "matrix." + tag, logger });
  const calls${typed(": Calls")} = { one: 0, block: 0, two: 0, heard: 0, connected: 0 };
  const runs${typed(": string[]")} = [];
  const ended = { work: () => {}, fail: () => {}, agent: () => {} };
  const inThread = { area: 0, threadId: 0, stack: "" };
  const worked = new Promise${typed("<void>")}((resolve) => (ended.work = resolve));
  const failed = new Promise${typed("<void>")}((resolve) => (ended.fail = resolve));
  const thought = new Promise${typed("<void>")}((resolve) => (ended.agent = resolve));

  const work = client.createFunction({ id: "work", triggers: { event: "work." + tag } }, async ({ step, runId }) => {
    runs[0] = runId;
    const one = await step.run("one", () => ((calls.one += 1), Size.small));
    await step.run("block", () => {
      calls.block += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.MATRIX_BLOCK_MS));
    });
    Object.assign(inThread, await step.run("square", square, 3));
    const two = await step.run("two", () => ((calls.two += 1), one + Size.large));
    ended.work();
    return two;
  });
  const fail = client.createFunction({ id: "fail", triggers: { event: "fail." + tag }, retries: 0 }, async ({ runId, step }) => {
    runs[1] = runId;
    await step.run("refuse", refuse, "o-1").catch((error) => (inThread.stack = error.stack + error.cause?.stack));
    setTimeout(() => ended.fail());
    refuseOrder("o-1");
  });

  subscribe("holdfast:step:end", (message${typed(": any")}) => {
    if (message.runId === runs[0] && message.stepId === "two") calls.heard += 1;
    throw new Error("This subscriber throws.");
  });
  const onStateChange = ({ from }${typed(": { from: string }")}) => {
    if (from === "CONNECTING") calls.connected += 1;
    throw new Error("This callback throws.");
  };
  const isolate = { module: agentModule, export: "agent" };
  const think = client.createFunction({ id: "think", triggers: { event: "think." + tag }, isolate });

  const late = process.env.MATRIX_LATE_MS;
  if (late) await new Promise((resolve) => setTimeout(resolve, Number(late)));
  const apps = [{ client, functions: [work, fail, think] }];
  const connection = await connect({ apps, connectTimeout: "20s", onStateChange });
  await client.send([{ name: "work." + tag }, { name: "fail." + tag }, { name: "think." + tag }]);
  await Promise.all([worked, failed, thought]);
  await connection.close();
  return { runs, calls, inThread: { ...inThread, main: threadId, lines } };
}
`;
  const { main, oneFile, unguarded } = entryTexts({ extension });
  const files = { orders, compute, app, main, "one-file": oneFile, unguarded };
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      `${name}.${extension}`,
      extension === "cjs" ? asCommonJs(text) : text,
    ]),
  );
}

/**
 * The module that throws.
 * @param {Dialect} dialect
 */
function ordersText({ extension, enums }) {
  const types = extension === "ts" || extension === "mts";
  const typed = (/** @type {string} */ text) => (types ? text : "");
  return `${enums ? "export enum Size { small = 1, large }\n" : "export const Size = { small: 1, large: 2 };\n"}
export class OrderError extends Error {
  constructor(message${typed(": string")}) {
    super(message);
    this.name = "OrderError";
  }
}

export function refuseOrder(id${typed(": string")})${typed(": never")} {
  throw new OrderError("Order " + id + " is refused.");
}
`;
}

/**
 * The module with isolated code.
 * @param {Dialect} dialect
 */
function computeText({ extension }) {
  const types = extension === "ts" || extension === "mts";
  const typed = (/** @type {string} */ text) => (types ? text : "");
  const here = addressIn(extension);
  return `import { threadId } from "node:worker_threads";
import { isolated } from "holdfast/isolate";
import { refuseOrder } from "./orders.${extension}";
${typed(`
interface Step { run<T>(id: string, body: () => T): Promise<T> }
`)}
export const square = isolated(${here}, "square", (side${typed(": number")}) => {
  console.log("square of " + side);
  return { area: side * side, threadId };
});

export const refuse = isolated(${here}, "refuse", (id${typed(": string")}) => refuseOrder(id), { budget: "20s" });

export async function agent({ step }${typed(": { step: Step }")}) {
  const thought = await step.run("think", () => {
    console.log("agent thinks");
    return threadId;
  });
  console.log("agent is done");
  return thought;
}
`;
}

/**
 * What starts the app: installed or in several files, as one file, and as one file that forgets what threads must not do.
 * @param {Dialect} dialect
 */
function entryTexts({ extension }) {
  const tell = (/** @type {string} */ agentModule) => `runApp(${agentModule}).then(
  (result) => console.log("${RESULT_MARK}" + JSON.stringify(result)),
  (error) => {
    process.exitCode = 1;
    console.log("${RESULT_MARK}" + JSON.stringify({ error: { code: error.code, message: error.message } }));
  },
)`;
  const agentModule =
    extension === "cjs"
      ? `require("node:path").join(__dirname, "compute.cjs")`
      : `new URL("./compute.${extension}", import.meta.url)`;
  const main = `import { runApp } from "./app.${extension}";

${tell(agentModule)};
`;
  // Threads of the pool evaluate the one file, too: there it must not connect.
  const oneFile = (/** @type {string} */ condition) => `import { isPoolThread } from "holdfast/isolate";
import { runApp } from "./app.${extension}";
${extension === "cjs" ? `export const agent = require("./compute.cjs").agent;` : `export { agent } from "./compute.${extension}";`}

${condition}${tell(addressIn(extension))};
`;
  return { main, oneFile: oneFile("if (!isPoolThread) "), unguarded: oneFile("") };
}

/** @param {Dialect["extension"]} extension */
const addressIn = (extension) => (extension === "cjs" ? "__filename" : "import.meta.url");

/** The same app as a test of Vitest: it has to end there, too. */
export const vitestFile = `import { expect, test } from "vitest";
import { runApp } from "./app.ts";

test("the app runs", async () => {
  const result = await runApp(new URL("./compute.ts", import.meta.url));
  expect(result.runs).toHaveLength(2);
  console.log("${RESULT_MARK}" + JSON.stringify(result));
}, 60_000);
`;

/** @param {string} text */
function asCommonJs(text) {
  return `${text
    .replaceAll(/^import (\{.*\}) from (".*");$/gm, "const $1 = require($2);")
    .replaceAll(/^export (?=(async )?function|class|const)/gm, "")}
module.exports = { ${[...text.matchAll(/^export (?:async )?(?:function|class|const) (\w+)/gm)].map(([, name]) => name).join(", ")} };
`;
}
