/** What the demo does, told while it happens. */
import { setTimeout as sleep } from "node:timers/promises";
import { isOver } from "../support/api.mjs";
import { follow } from "./follow.mjs";
import {
  beginMarks,
  bold,
  chapter,
  dim,
  endMarks,
  green,
  magenta,
  mark,
  more,
  print,
  red,
  say,
  sign,
} from "./screen.mjs";
import { runRows, timeline } from "./timeline.mjs";
import { heartbeatMs, leaseMs } from "./world.mjs";

const order = { id: "1042", items: ["lamp", "poster", "teapot"], amount: 8450 };

/**
 * @typedef {object} Outcome what happened, for `promises.mjs` to judge
 * @property {import("../support/api.mjs").RunView} run
 * @property {import("../support/api.mjs").RunView} receipt
 * @property {readonly import("./diary.mjs").Line[]} diary
 * @property {readonly import("../support/tap.mjs").TappedFrame[]} frames
 * @property {Blocked} blocked
 * @property {readonly string[]} durableBeforeKill
 * @property {number} firstPid
 * @property {number} secondPid
 *
 * @typedef {object} Blocked
 * @property {number} from epoch ms
 * @property {number} to
 * @property {number} unansweredMs how long the main thread did not answer
 * @property {number} reconnects
 */

/**
 * @param {import("./world.mjs").DemoWorld} world
 * @returns {Promise<Outcome>}
 */
export async function story(world) {
  const { gateway, api, tap, diary, startApp } = world;
  say("gateway", `ready at ${bold(gateway.url)}, with a Postgres of its own`);
  const first = await startApp();
  say("app", `process ${bold(String(first.pid))} is connected; its functions run on its main thread`);

  chapter("An order comes in");
  const [eventId = ""] = await api.send({ name: "shop/order.placed", data: order });
  say("event", `shop/order.placed ${dim(`#${order.id}: ${order.items.join(", ")}`)}`);
  const [placed] = await api.runsOf(eventId);
  if (placed === undefined) throw new Error("The event started no run.");
  const steps = follow(api, placed.id);
  await steps.finished("cooling-off");

  const blocked = await block(world, first);
  await steps.finished("render-label");

  chapter("kill -9");
  await diary.seen("pack-parcel", "called", 1);
  await sleep(400);
  const durableBeforeKill = steps.names();
  const killedAt = Date.now();
  await first.kill();
  say("app", red(`process ${first.pid} is killed with -9 in the middle of pack-parcel`));
  const second = await startApp();
  say("app", `process ${bold(String(second.pid))} is connected: the same code, an empty memory`);
  more(dim("the gateway gives the lost process a few seconds to come back, then its work to another"));
  const { at: resumedAt } = await diary.seen("pack-parcel", "called", 2);
  say("run", `goes on with ${bold("pack-parcel")}, the one step that was not finished`);
  more(green(`not redone: ${durableBeforeKill.join(", ")}`));

  chapter("A service that fails");
  const run = await steps.ended();
  const receipt = await theReceipt(api);
  say("run", green(`${run.status.toLowerCase()} ${JSON.stringify(run.output)}`));
  say("mail", `"${receipt.output}"`);

  chapter("The run, from event to end");
  const lines = diary.lines();
  const span = { from: run.createdMs, to: run.endedMs ?? Date.now(), killedAt, resumedAt };
  for (const line of timeline(runRows(run, lines, killedAt), span)) print(`  ${line}`);
  const pids = { firstPid: first.pid, secondPid: second.pid };
  return { run, receipt, diary: lines, frames: tap.frames, blocked, durableBeforeKill, ...pids };
}

/**
 * The step that computes without a pause: shows what the connection's thread does meanwhile.
 * @param {import("./world.mjs").DemoWorld} world
 * @param {import("../support/child.mjs").Child} app
 * @returns {Promise<Blocked>}
 */
async function block({ tap, diary }, app) {
  chapter("A step that does not let go of the main thread");
  const { at: from } = await diary.seen("render-label", "called", 1);
  const connections = tap.connections;
  say("step", `${bold("render-label")} computes for 4 s; meanwhile nothing else runs on the app's main thread`);
  const asked = Date.now();
  const answered = app.ask("are you there?").then(() => Date.now() - asked);
  beginMarks("app");
  const unwatch = tap.onFrame((frame) => {
    if (frame.kind === "WORKER_HEARTBEAT") mark(red(sign.beat));
    if (frame.kind === "WORKER_REQUEST_EXTEND_LEASE") mark(magenta(sign.renew));
  });
  const { at: to } = await diary.seen("render-label", "done", 1);
  const unansweredMs = await answered;
  unwatch();
  endMarks();
  more(
    `${red(sign.beat)} ${dim(`heartbeat, every ${heartbeatMs / 1000} s`)}   ${magenta(sign.renew)} ${dim(`lease of ${leaseMs / 1000} s renewed`)}`,
  );
  say("app", `"are you there?" took the main thread ${bold(`${(unansweredMs / 1000).toFixed(1)} s`)} to answer`);
  return { from, to, unansweredMs, reconnects: tap.connections - connections };
}

/** @param {import("../support/api.mjs").GatewayApi} api */
async function theReceipt(api) {
  for (let tries = 0; tries < 400; tries++) {
    const run = (await api.runs()).find((run) => run.functionId.endsWith("send-receipt") && isOver(run));
    if (run !== undefined) return run;
    await sleep(50);
  }
  throw new Error("The order was shipped, but no receipt was sent.");
}
