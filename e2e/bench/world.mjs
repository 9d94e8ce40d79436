/**
 * Gateways, workers and Postgres of a scenario, each in a process of its own; Postgres syncs every commit to disk. They are
 * asked only what every build answers: the HTTP API, the SDK's entry point, the operating system, the server's counters.
 */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDatabase, startTestPostgres } from "@holdfast/testing";
import postgres from "postgres";
import { gatewayApi } from "../support/api.mjs";
import { Child } from "../support/child.mjs";
import { startGateway } from "../support/gateway.mjs";
import { cpuUs, familyCpuUs, familyMb, forgetPeak, memoryMb, parentOf } from "./proc.mjs";

/**
 * @typedef {import("./builds.mjs").Build} Build
 *
 * @typedef {object} WorldOptions
 * @property {boolean} [plain] gateways without extensions
 * @property {number} [gateways] default 1
 * @property {number} [workers] default 1; they are spread over the gateways
 * @property {readonly string[]} [gatewayArgs]
 *
 * @typedef {object} Usage what was used so far
 * @property {number} app CPU time, microseconds, as the next two
 * @property {number} gateway
 * @property {number} postgres
 * @property {number} commits transactions that wrote
 * @property {number} walBytes
 */

/** As a small server would be set up; one that syncs, and whose checkpoints do not fall into a row by chance. */
const settings = { shared_buffers: "256MB", max_wal_size: "8GB", checkpoint_timeout: "1h" };

/** A run that takes longer than this on average is taken for one that never ends. */
const RUN_LIMIT_MS = 20;

export class World {
  #build;
  #options;
  #profiles;
  /** @type {import("@holdfast/testing").TestPostgres} */
  #server;
  #databaseUrl;
  #sql;
  /** Statistics are read from another database: its own commits are not among those that are counted. */
  #outside;
  #postmaster = 0;
  #registered = false;
  /** @type {World | undefined} */
  #beside;
  /** @type {Map<string, Child>} */
  #workers = new Map();
  /** @type {Map<Child, number>} handlers that have finished, as the workers say */
  #handled = new Map();
  /** @type {import("../support/gateway.mjs").RunningGateway[]} */
  gateways = [];

  /**
   * @param {object} given
   * @param {Build} given.build
   * @param {WorldOptions} given.options
   * @param {string} [given.profiles] folder for CPU profiles; none are taken without it
   */
  static async open({ build, options, profiles }) {
    const server = await startTestPostgres({ own: true, durable: true, settings });
    const database = await createDatabase(server.url);
    const world = new World({ build, options, profiles, server, databaseUrl: database.url });
    try {
      await world.#start(database.url);
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  /**
   * @param {object} parts
   * @param {Build} parts.build
   * @param {WorldOptions} parts.options
   * @param {string | undefined} parts.profiles
   * @param {import("@holdfast/testing").TestPostgres} parts.server
   * @param {string} parts.databaseUrl
   */
  constructor({ build, options, profiles, server, databaseUrl }) {
    this.#build = build;
    this.#options = options;
    this.#profiles = profiles;
    this.#server = server;
    this.#databaseUrl = databaseUrl;
    this.#sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
    this.#outside = postgres(server.url, { max: 1, onnotice: () => {} });
  }

  /** @param {string} databaseUrl */
  async #start(databaseUrl) {
    const { plain = false, gateways = 1, workers = 1, gatewayArgs = [] } = this.#options;
    const [backend] = await this.#outside`SELECT pg_backend_pid() AS pid`;
    this.#postmaster = parentOf(Number(backend?.pid));
    for (let index = 0; index < gateways; index++) {
      this.gateways.push(
        await startGateway({
          bin: this.#build.gatewayBin,
          databaseUrl,
          extensions: !plain,
          nodeArgs: this.#profiling(`gateway${index || ""}`),
          args: gatewayArgs,
        }),
      );
    }
    for (let index = 0; index < workers; index++) await this.startWorker(index);
  }

  /** @param {string} name */
  #profiling(name) {
    if (this.#profiles === undefined) return [];
    // Each thread writes one of its own: the file's name says which, and a name that is given would be that of all.
    const folder = `${name}${this.#options.plain ? "-plain" : ""}-${this.#build.label.replaceAll(/\W/g, "-")}`;
    return ["--cpu-prof", `--cpu-prof-dir=${join(this.#profiles, folder)}`];
  }

  /** The gateways' database. */
  get databaseUrl() {
    return this.#databaseUrl;
  }

  get build() {
    return this.#build;
  }

  /** The first gateway's API. */
  get api() {
    return this.apiOf(0);
  }

  /** @param {number} index */
  apiOf(index) {
    const gateway = this.gateways[index % this.gateways.length];
    if (gateway === undefined) throw new Error("This world has no gateway.");
    return gatewayApi(gateway.url);
  }

  /** The first worker. */
  get app() {
    const [first] = this.#workers.values();
    if (first === undefined) throw new Error("This world has no worker.");
    return first;
  }

  /** A worker connects and leaves: from then on the gateways know its functions. */
  async registerFunctions() {
    if (this.#registered) return;
    await this.startWorker(0);
    await this.stopWorkers();
    this.#registered = true;
  }

  get workers() {
    return [...this.#workers.values()];
  }

  /** Starts another worker of the app, connected to one of the gateways in turn. */
  startWorker(/** @type {number} */ index) {
    return this.#startApp(`worker ${index}`, index, { BENCH_APP: "bench" }, this.#profiling(`app${index || ""}`));
  }

  /**
   * Another app beside the first; it is started once and stays. Its events are called `<id>/...`.
   * @param {string} id
   * @param {Record<string, string>} env
   */
  async appOf(id, env) {
    return this.#workers.get(id) ?? (await this.#startApp(id, 0, { BENCH_APP: id, ...env }, []));
  }

  /**
   * @param {string} name
   * @param {number} gateway
   * @param {Record<string, string>} env
   * @param {readonly string[]} nodeArgs
   */
  async #startApp(name, gateway, env, nodeArgs) {
    const url = this.apiOf(gateway).url;
    const started = new Child(fileURLToPath(new URL("./app.mjs", import.meta.url)), {
      name: `The app ${name}`,
      env: { HOLDFAST_DEV: url, BENCH_SDK: this.#build.sdkUrl, ...env },
      nodeArgs,
    });
    this.#workers.set(name, started);
    await started.message((message) => message.ready === true);
    this.#handled.set(started, 0);
    this.#listen(started).catch(() => {});
    return started;
  }

  /** @param {Child} app */
  async #listen(app) {
    for (;;) {
      const { finished } = await app.message((message) => message.finished !== undefined, 2 ** 31 - 1);
      this.#handled.set(app, finished);
    }
  }

  /** Closes all workers and waits until they are gone. */
  async stopWorkers() {
    await Promise.all(
      this.workers.map(async (one) => {
        if (one.alive) await one.ask("close").catch(() => one.kill());
        await one.exited;
      }),
    );
    this.#workers.clear();
    this.#handled.clear();
  }

  #handledRuns() {
    return [...this.#handled.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Runs that the gateways have ended so far, after the commit. */
  async #endedRuns() {
    const metrics = await Promise.all(this.gateways.map((_, index) => this.apiOf(index).metrics()));
    // Before it was called dispatcher it was called engine.
    return metrics.reduce((sum, one) => sum + (one.dispatcher ?? one.engine).runsEnded, 0);
  }

  /**
   * From just before the work begins until so many more runs have ended durably.
   * @param {number} count
   * @param {() => Promise<unknown>} begin sends the events; its end is that of the intake
   */
  async runs(count, begin) {
    const handledBefore = this.#handledRuns();
    const endedBefore = await this.#endedRuns();
    const before = await this.usage();
    const start = performance.now();
    const limitMs = start + 60_000 + count * RUN_LIMIT_MS;
    const begun = begin().then(() => performance.now());
    begun.catch(() => {});
    const wait = async (/** @type {number} */ ms) => {
      if (performance.now() > limitMs)
        throw new Error(`${this.#handledRuns() - handledBefore} of ${count} runs ended.`);
      const gone = this.workers.find((one) => !one.alive);
      if (gone !== undefined) throw new Error(`${gone.name} is gone.\n${gone.tail()}`);
      await sleep(ms);
    };
    while (this.#handledRuns() - handledBefore < count) await wait(2);
    // The last replies are on their way to a commit: it is a matter of milliseconds.
    while ((await this.#endedRuns()) - endedBefore < count) await wait(1);
    const end = performance.now();
    const taken = await begun;
    const seconds = (end - start) / 1000;
    return { seconds, intakeSeconds: (taken - start) / 1000, ...costs(before, await this.usage(), count) };
  }

  /**
   * How many runs have a status, up to a thousand.
   * @param {"WAITING" | "RUNNING" | "PENDING"} status
   */
  async countRuns(status) {
    let count = 0;
    /** @type {string | null} */
    let cursor = null;
    do {
      const query = new URLSearchParams({ status, limit: "1000", ...(cursor === null ? {} : { cursor }) });
      const response = await fetch(new URL(`/v1/runs?${query}`, this.api.url));
      if (!response.ok) throw new Error(`The list of runs answered ${response.status}.`);
      const page = /** @type {{ runs: unknown[], nextCursor: string | null }} */ (await response.json());
      count += page.runs.length;
      cursor = page.nextCursor;
    } while (cursor !== null);
    return count;
  }

  /** @returns {Promise<Usage>} */
  async usage() {
    // Transaction ids are exact at once, where the counters of pg_stat_database come seconds late and count reads.
    const [row] = await this.#outside`
      SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes`;
    const sum = (/** @type {readonly { pid: number }[]} */ all) =>
      all.reduce((total, { pid }) => total + cpuUs(pid), 0);
    return {
      app: sum(this.workers),
      gateway: sum(this.gateways.map(({ child }) => child)),
      postgres: familyCpuUs(this.#postmaster),
      commits: Number(row?.xid),
      walBytes: Number(row?.bytes),
    };
  }

  /** Memory of the first worker, the first gateway and Postgres, MB. */
  memory() {
    return {
      app: memoryMb(this.workers[0]?.pid ?? 0),
      gateway: memoryMb(this.#firstGateway.pid),
      postgresMb: familyMb(this.#postmaster),
    };
  }

  /** From now on the peak of their memory counts anew. */
  forgetPeaks() {
    forgetPeak(this.app.pid);
    forgetPeak(this.#firstGateway.pid);
  }

  get #firstGateway() {
    const [first] = this.gateways;
    if (first === undefined) throw new Error("This world has no gateway.");
    return first.child;
  }

  /**
   * Moves the gateways' time on; they need `--virtual-time`.
   * @param {number} ms
   */
  async skipTime(ms) {
    const headers = { "content-type": "application/json" };
    const url = new URL("/v1/testing/skip-time", this.api.url);
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ ms }) });
    if (!response.ok) throw new Error(`skip-time answered ${response.status}.`);
  }

  /**
   * One statement in the database of the gateways, always on the same connection.
   * @param {string} text
   * @param {readonly number[]} [values]
   */
  sql(text, values = []) {
    return this.#sql.unsafe(text, [...values]);
  }

  /**
   * Another world like this one, of a Postgres of its own, which closes with this one: what is compared is measured in both in turn.
   * @param {(other: World) => Promise<unknown>} prepare both of them, when it is opened
   */
  async beside(prepare) {
    if (this.#beside === undefined) {
      this.#beside = await World.open({ build: this.#build, options: this.#options });
      await prepare(this.#beside);
    }
    return this.#beside;
  }

  /** Jobs that are due at a later time. */
  async laterJobs() {
    return Number((await this.api.metrics()).queue?.later);
  }

  /** How long a commit of one row takes here, milliseconds. */
  async commitMs() {
    await this.#outside`CREATE TABLE IF NOT EXISTS commits (at timestamptz)`;
    const start = performance.now();
    for (let index = 0; index < 100; index++) await this.#outside`INSERT INTO commits VALUES (now())`;
    return (performance.now() - start) / 100;
  }

  idle() {
    return sleep(15);
  }

  async close() {
    await this.#beside?.close();
    await Promise.all([this.#sql.end({ timeout: 5 }), this.#outside.end({ timeout: 5 })]);
    await this.stopWorkers();
    await Promise.all(this.gateways.map(({ child }) => child.stop()));
    await this.#server.stop();
  }
}

/**
 * What each run took of everything.
 * @param {Usage} before
 * @param {Usage} after
 * @param {number} runs
 */
function costs(before, after, runs) {
  const each = (/** @type {keyof Usage} */ name) => (after[name] - before[name]) / runs;
  return {
    appCpuUs: each("app"),
    gatewayCpuUs: each("gateway"),
    postgresCpuUs: each("postgres"),
    walBytes: each("walBytes"),
    commits: each("commits"),
  };
}
