/** What the harness asks for, from the environment that it sets, and the lines that it reads. Pure. */

/**
 * @typedef {object} Settings
 * @property {string} databaseUrl
 * @property {string} scenario
 * @property {"fixed" | "depth-target"} mode
 * @property {boolean} pacedByHarness jobs are made as the harness says on standard input
 * @property {number} rate jobs a second
 * @property {string | undefined} rateFile has the rate of the moment
 * @property {number} targetDepth
 * @property {number} workerCount
 * @property {number} payloadBytes
 * @property {boolean} randomPayload
 * @property {number} workMs
 * @property {number} sampleEveryS
 * @property {number} batchMs
 * @property {number} batchMax
 * @property {number} queueCount
 * @property {number} instanceId
 * @property {boolean} produces
 * @property {string | undefined} gateFile consumers begin when it says `open`
 */

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {Settings}
 * @throws Error with a sentence for the reader
 */
export function readSettings(env) {
  const number = (/** @type {string} */ name, /** @type {number} */ otherwise) => {
    const value = env[name] === undefined || env[name] === "" ? otherwise : Number(env[name]);
    if (!Number.isFinite(value) || value < 0)
      throw new Error(`${name} must be a number from 0 on, not "${env[name]}".`);
    return value;
  };
  if (!env.DATABASE_URL) throw new Error("DATABASE_URL must be set.");
  const scenario = env.SCENARIO ?? "long_horizon";
  if (scenario !== "long_horizon") throw new Error(`This adapter knows no scenario "${scenario}".`);
  const mode = env.PRODUCER_MODE ?? "fixed";
  if (mode !== "fixed" && mode !== "depth-target") throw new Error(`There is no PRODUCER_MODE "${mode}".`);
  const instanceId = number("BENCH_INSTANCE_ID", 0);
  return {
    databaseUrl: env.DATABASE_URL,
    scenario,
    mode,
    pacedByHarness: mode === "fixed" && env.PRODUCER_PACING === "harness",
    rate: number("PRODUCER_RATE", 800),
    rateFile: env.PRODUCER_RATE_CONTROL_FILE || undefined,
    targetDepth: number("TARGET_DEPTH", 1000),
    workerCount: Math.max(1, number("WORKER_COUNT", 32)),
    payloadBytes: number("JOB_PAYLOAD_BYTES", 256),
    randomPayload: env.JOB_PAYLOAD_KIND === "random",
    workMs: number("JOB_WORK_MS", 1),
    sampleEveryS: Math.max(1, number("SAMPLE_EVERY_S", 5)),
    batchMs: Math.max(1, number("PRODUCER_BATCH_MS", 25)),
    batchMax: Math.max(1, number("PRODUCER_BATCH_MAX", 128)),
    queueCount: Math.max(1, number("BENCH_QUEUE_COUNT", 1)),
    instanceId,
    produces: instanceId === 0 || !number("PRODUCER_ONLY_INSTANCE_ZERO", 0),
    gateFile: env.CONSUMER_GATE_FILE || undefined,
  };
}

/** How many jobs a line of the harness asks for; 0 for any other line. @param {string} line */
export function jobsAskedFor(line) {
  const count = /^ENQUEUE (\d+)$/.exec(line.trim())?.[1];
  return count === undefined ? 0 : Number(count);
}

/**
 * What a fixed rate has come to since it was asked last: by the time that has passed, never by turns of a loop, so that a
 * slow turn does not lower the offered rate.
 */
export class Credit {
  #credit = 0;
  #lastMs;

  /** @param {number} nowMs */
  constructor(nowMs) {
    this.#lastMs = nowMs;
  }

  /**
   * @param {number} nowMs
   * @param {number} rate jobs a second
   * @param {number} most what is beyond it is kept for the next turn, up to a second's worth
   */
  take(nowMs, rate, most) {
    this.#credit = Math.min(this.#credit + ((nowMs - this.#lastMs) * rate) / 1000, Math.max(rate, most));
    this.#lastMs = nowMs;
    const count = Math.min(Math.floor(this.#credit), most);
    this.#credit -= count;
    return count;
  }
}
