/**
 * The app that every environment of the matrix runs, as a user writes one: three modules, in TypeScript or JavaScript.
 *
 * It connects, runs steps, blocks its main thread for longer than its lease in one of them, fails in another function,
 * closes, and has to end by itself then. A subscriber and a callback that throw are to harm nothing. Its last line says what to look for at the gateway.
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
  const orders = `${enums ? "export enum Size { small = 1, large }\n" : "export const Size = { small: 1, large: 2 };\n"}
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
  const app = `import { subscribe } from "node:diagnostics_channel";
import { Holdfast } from "holdfast";
import { connect } from "holdfast/connect";
import { refuseOrder, Size } from "./orders.${extension}";

${typed("interface Calls { one: number; block: number; two: number; heard: number; connected: number }\n")}
const quiet = { debug() {}, info() {}, warn: console.warn, error: console.error };

export async function runApp() {
  const tag = process.env.MATRIX_CELL + "." + process.pid;
  const client = new Holdfast({ id: "matrix." + tag, logger: quiet });
  const calls${typed(": Calls")} = { one: 0, block: 0, two: 0, heard: 0, connected: 0 };
  const runs${typed(": string[]")} = [];
  const ended = { work: () => {}, fail: () => {} };
  const worked = new Promise${typed("<void>")}((resolve) => (ended.work = resolve));
  const failed = new Promise${typed("<void>")}((resolve) => (ended.fail = resolve));

  const work = client.createFunction({ id: "work", triggers: { event: "work." + tag } }, async ({ step, runId }) => {
    runs[0] = runId;
    const one = await step.run("one", () => ((calls.one += 1), Size.small));
    await step.run("block", () => {
      calls.block += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.MATRIX_BLOCK_MS));
    });
    const two = await step.run("two", () => ((calls.two += 1), one + Size.large));
    ended.work();
    return two;
  });
  const fail = client.createFunction({ id: "fail", triggers: { event: "fail." + tag }, retries: 0 }, ({ runId }) => {
    runs[1] = runId;
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
  const apps = [{ client, functions: [work, fail] }];
  const connection = await connect({ apps, connectTimeout: "20s", onStateChange });
  await client.send([{ name: "work." + tag }, { name: "fail." + tag }]);
  await Promise.all([worked, failed]);
  await connection.close();
  return { runs, calls };
}
`;
  const main = `import { runApp } from "./app.${extension}";

runApp().then(
  (result) => console.log("${RESULT_MARK}" + JSON.stringify(result)),
  (error) => {
    process.exitCode = 1;
    console.log("${RESULT_MARK}" + JSON.stringify({ error: { code: error.code, message: error.message } }));
  },
);
`;
  const files = { orders, app, main };
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      `${name}.${extension}`,
      extension === "cjs" ? asCommonJs(text) : text,
    ]),
  );
}

/** The same app as a test of Vitest: it has to end there, too. */
export const vitestFile = `import { expect, test } from "vitest";
import { runApp } from "./app.ts";

test("the app runs", async () => {
  const result = await runApp();
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
