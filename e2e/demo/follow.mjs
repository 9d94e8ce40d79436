/** Follows a run by asking the gateway, and says each step as soon as it is durable. */
import { setTimeout as sleep } from "node:timers/promises";
import { isOver } from "../support/api.mjs";
import { bold, dim, green, magenta, say, sign, yellow } from "./screen.mjs";

/**
 * @typedef {import("../support/api.mjs").GatewayApi} GatewayApi
 * @typedef {import("../support/api.mjs").RunView} RunView
 */

const everyMs = 60;
const limitMs = 45_000;

/**
 * @param {GatewayApi} api
 * @param {string} runId
 */
export function follow(api, runId) {
  /** @type {Set<string>} */
  const done = new Set();
  /** @type {Set<string>} */
  const said = new Set();
  /** @type {RunView | undefined} */
  let run;

  async function look() {
    run = await api.run(runId);
    for (const step of run.steps) {
      const failed = step.failedAttempts.at(-1);
      const failure = `${step.name} failed ${failed?.attempt}`;
      if (failed !== undefined && !said.has(failure)) {
        said.add(failure);
        say("step", `${yellow(sign.bad)} ${bold(step.name)} ${dim(`failed: ${failed.error.message ?? failed.error}`)}`);
      }
      if (step.status === "waiting" && !said.has(step.name)) {
        said.add(step.name);
        say(
          "step",
          `${magenta(sign.zz)} ${bold(step.name)} ${dim("sleeps: a row in Postgres, nothing waits in memory")}`,
        );
      }
      if (step.status === "completed" && !done.has(step.name)) {
        done.add(step.name);
        say("step", `${green(sign.ok)} ${bold(step.name)}`);
      }
    }
    return run;
  }

  /** @param {(run: RunView) => boolean} holds */
  async function until(holds, what = "") {
    const end = Date.now() + limitMs;
    for (;;) {
      const now = await look();
      if (holds(now)) return now;
      if (isOver(now)) throw new Error(`The run ended as ${now.status} before ${what}: ${JSON.stringify(now.error)}`);
      if (Date.now() > end) throw new Error(`Timed out after ${limitMs / 1000} s waiting for ${what}.`);
      await sleep(everyMs);
    }
  }

  return {
    /** @param {string} name of a step */
    finished: (name) => until(() => done.has(name), `${name} was finished`),
    ended: () => until(isOver, "the run had ended"),
    /** Steps that are durable. */
    names: () => [...done],
  };
}
