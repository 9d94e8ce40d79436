/**
 * Runs code in a thread of its own, which is ended with it: where there is no step that the pool could run, as when a
 * node is undone. That is rare, so a thread is started for each call.
 */
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { HoldfastError } from "@holdfast/core";
import { own } from "../json/json-size.ts";
import type { CodeJob, CodeResult } from "../nodes/code-job.ts";

/** In which the thread starts and loads the sandbox, beside what the code may take. */
const START_MS = 5_000;

/** What the thread does: CommonJS, as that is what `eval` takes. */
const BOOT = `
const { parentPort, workerData: { module, job } } = require("node:worker_threads");
import(module)
  .then(({ isolatedCode }) => isolatedCode(job.timeoutMs)(job))
  .then((result) => ({ result }), ({ code, message }) => ({ code, message }))
  .then((answer) => parentPort.postMessage(answer));
`;

/**
 * @param file path of the sandbox's module
 * @throws HoldfastError `GRAPH_CODE_FAILED`, `GRAPH_CODE_BUDGET`
 */
export async function runInOwnThread(file: string, job: CodeJob): Promise<CodeResult> {
  const worker = new Worker(BOOT, { eval: true, env: {}, workerData: { module: pathToFileURL(file).href, job } });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const budget = (why: string) =>
        reject(new HoldfastError("GRAPH_CODE_BUDGET", `The code was ended, since ${why}.`));
      timer = setTimeout(() => budget(`it took longer than ${job.timeoutMs} ms`), job.timeoutMs + START_MS);
      worker.once("message", (answer: unknown) => {
        const result = own(answer, "result");
        if (result !== undefined) return resolve(result as CodeResult);
        const code = own(answer, "code");
        reject(
          new HoldfastError(code === "GRAPH_CODE_BUDGET" ? code : "GRAPH_CODE_FAILED", String(own(answer, "message"))),
        );
      });
      worker.once("error", (error) => budget(`its thread failed: ${error.message}`));
      worker.once("exit", () => budget("its thread has ended"));
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
