/** What the demo promises, checked against what its services, the wire and the gateway saw. */
import { chapter, dim, green, print, red, sign } from "./screen.mjs";
import { heartbeatMs, leaseMs } from "./world.mjs";

/**
 * @typedef {import("./story.mjs").Outcome} Outcome
 * @typedef {{ promise: string, seen: string, kept: boolean }} Judged
 */

/** How much later than its interval a heartbeat may come on a busy machine. */
const slackMs = 700;

/**
 * Prints each promise and whether it was kept.
 * @param {Outcome} outcome
 * @returns {string[]} those that were not
 */
export function verify(outcome) {
  chapter("What was promised");
  const judged = [
    durable(outcome),
    notRedone(outcome),
    heartbeats(outcome),
    leases(outcome),
    connection(outcome),
    retries(outcome),
    mail(outcome),
  ];
  for (const { promise, seen, kept } of judged) {
    print(`  ${kept ? green(sign.ok) : red(sign.bad)} ${promise} ${dim(`(${seen})`)}`);
  }
  return judged.filter(({ kept }) => !kept).map(({ promise, seen }) => `${promise}, but: ${seen}`);
}

/**
 * @param {Outcome} outcome
 * @param {string} service
 * @param {"called" | "done" | "failed"} what
 */
const count = ({ diary }, service, what) =>
  diary.filter((line) => line.service === service && line.what === what).length;

/** @returns {Judged} @param {Outcome} outcome */
function durable({ run }) {
  const wanted = { payment: { receipt: "receipt-1042", amount: 8450 }, tracking: "track-parcel-1042" };
  return {
    promise: "The order ended as if nothing had happened",
    seen: `${run.status}, ${JSON.stringify(run.output)}`,
    kept: run.status === "COMPLETED" && JSON.stringify(run.output) === JSON.stringify(wanted),
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function notRedone(outcome) {
  const once = ["charge-card", "reserve-lamp", "reserve-poster", "reserve-teapot", "render-label"];
  const wrong = once.filter((service) => count(outcome, service, "called") !== 1);
  const missing = once.filter((service) => !outcome.durableBeforeKill.includes(service));
  const parcels = outcome.diary.filter(({ service, what }) => service === "pack-parcel" && what === "called");
  const pids = parcels.map(({ pid }) => pid).join(", ");
  const kept =
    wrong.length === 0 &&
    missing.length === 0 &&
    pids === `${outcome.firstPid}, ${outcome.secondPid}` &&
    count(outcome, "pack-parcel", "done") === 1;
  return {
    promise: "No finished step was done again after the kill",
    seen: kept
      ? `${once.length} steps once each; only pack-parcel, cut short, began twice`
      : `called more or less than once: ${wrong.join(", ") || "none"}; not durable before the kill: ${missing.join(", ") || "none"}; pack-parcel in processes ${pids}`,
    kept,
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function heartbeats({ frames, blocked }) {
  const times = frames.filter(
    ({ frame, at }) => frame?.kind === "WORKER_HEARTBEAT" && at >= blocked.from && at <= blocked.to,
  );
  const gaps = [...times.map(({ at }) => at), blocked.to].map(
    (at, index) => at - (times[index - 1]?.at ?? blocked.from),
  );
  const longest = Math.max(...gaps);
  return {
    promise: "Heartbeats kept their interval while the main thread was blocked",
    seen: `${times.length} in ${seconds(blocked.to - blocked.from)}, longest silence ${seconds(longest)}; the main thread was silent for ${seconds(blocked.unansweredMs)}`,
    kept: longest < heartbeatMs + slackMs && blocked.unansweredMs > 3000,
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function leases({ frames, blocked }) {
  const renewed = frames.filter(
    ({ frame, at }) => frame?.kind === "WORKER_REQUEST_EXTEND_LEASE_ACK" && at >= blocked.from && at <= blocked.to,
  );
  const refused = renewed.filter(
    ({ frame }) => frame?.kind === "WORKER_REQUEST_EXTEND_LEASE_ACK" && frame.newLeaseId === undefined,
  );
  return {
    promise: `The work's lease of ${seconds(leaseMs)} never ended`,
    seen: `renewed ${renewed.length} times, refused ${refused.length} times`,
    kept: renewed.length >= 2 && refused.length === 0,
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function connection({ blocked }) {
  return {
    promise: "The connection was never lost while the thread was blocked",
    seen: `${blocked.reconnects} reconnects`,
    kept: blocked.reconnects === 0,
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function retries(outcome) {
  const [failed, done] = [count(outcome, "book-courier", "failed"), count(outcome, "book-courier", "done")];
  return {
    promise: "The failing service was asked again until it worked, and no more",
    seen: `failed ${failed} times, worked ${done} times`,
    kept: failed === 2 && done === 1,
  };
}

/** @returns {Judged} @param {Outcome} outcome */
function mail(outcome) {
  const sent = count(outcome, "send-mail", "called");
  return {
    promise: "The customer got one mail",
    seen: `${sent} sent`,
    kept: sent === 1 && outcome.receipt.status === "COMPLETED",
  };
}

/** @param {number} ms */
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
