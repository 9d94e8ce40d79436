/** The gateway's HTTP interface, as far as tests, demo and benchmark use it. */
import { LIMIT_MS } from "./limits.mjs";

/**
 * @typedef {object} StepView
 * @property {string} id
 * @property {string} name
 * @property {string} op
 * @property {"planned" | "waiting" | "retrying" | "completed" | "failed"} status
 * @property {readonly { attempt: number, atMs: number, error: { message?: string } }[]} failedAttempts
 * @property {number | null} startedMs
 * @property {number | null} openedMs
 * @property {number | null} endedMs
 *
 * @typedef {object} StallView
 * @property {number} atMs
 * @property {number} stalledMs
 * @property {boolean} ended
 * @property {string} instanceId
 * @property {string} [stepId]
 * @property {string} [location] file:line:column
 * @property {string} [codeName]
 * @property {string} [stack]
 * @property {true} [leasesGivenUp]
 *
 * @typedef {object} RunView
 * @property {string} id
 * @property {string} functionId
 * @property {string} status
 * @property {any} output
 * @property {any} error
 * @property {number} createdMs
 * @property {number | null} endedMs
 * @property {number} leasesLost how often its work was taken up again; lists leave it out
 * @property {readonly StallView[]} stalls while a worker that had the run stalled; lists leave them out
 * @property {readonly StepView[]} steps in the order in which the run met them; lists leave them out
 *
 * @typedef {ReturnType<typeof gatewayApi>} GatewayApi
 */

const ends = new Set(["COMPLETED", "FAILED", "CANCELLED"]);

/** @param {RunView} run */
export const isOver = (run) => ends.has(run.status);

/** @param {string} url such as http://127.0.0.1:8288 */
export function gatewayApi(url) {
  const call = async (/** @type {string} */ path, /** @type {RequestInit} */ init = {}) => {
    const endMs = Date.now() + LIMIT_MS;
    let response = await fetch(new URL(path, url), { ...init, signal: AbortSignal.timeout(LIMIT_MS) });
    // A database that is away for longer than a call that reads waits: such a call can be made again.
    while (response.status === 503 && init.method === undefined && Date.now() < endMs) {
      await response.text();
      response = await fetch(new URL(path, url), { ...init, signal: AbortSignal.timeout(LIMIT_MS) });
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method ?? "GET"} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  /** @returns {Promise<RunView>} */
  const run = (/** @type {string} */ id) => call(`/v1/runs/${id}`);
  return {
    url,
    run,
    /** Whether it says that it can work; false when it does not answer. */
    isReady: () =>
      fetch(new URL("/ready", url), { signal: AbortSignal.timeout(LIMIT_MS) }).then(
        ({ ok }) => ok,
        () => false,
      ),
    /**
     * Sends one event or several.
     * @param {object | readonly object[]} events
     * @returns {Promise<string[]>} their ids
     */
    send: async (events) => {
      const headers = { "content-type": "application/json" };
      const { ids } = await call("/e/dev", { method: "POST", headers, body: JSON.stringify(events) });
      return ids;
    },
    /**
     * The runs that an event started.
     * @param {string} eventId
     * @returns {Promise<RunView[]>}
     */
    runsOf: async (eventId) => Promise.all((await call(`/v1/events/${eventId}`)).runIds.map(run)),
    /**
     * The newest runs.
     * @returns {Promise<RunView[]>}
     */
    runs: async () => Promise.all((await call("/v1/runs")).runs.map((/** @type {RunView} */ { id }) => run(id))),
    /** Counters of the gateway. */
    metrics: () => call("/v1/metrics"),
    /**
     * Counters of the gateway's engine.
     * @returns {Promise<Record<string, number>>}
     */
    counters: async () => (await call("/v1/metrics")).dispatcher,
    /**
     * How late the gateway's event loop was, milliseconds.
     * @returns {Promise<{ mean: number, p50: number, p99: number, max: number }>}
     */
    eventLoopDelay: async () => (await call("/v1/metrics")).process.eventLoopDelayMs,
  };
}
