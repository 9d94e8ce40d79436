/**
 * Measures scenarios on one build or on two: worlds are opened when they are needed and shared where scenarios allow it,
 * and the rows of two builds are taken in turn, A B A B, so that what else the machine does happens to both.
 */
import { loadavg } from "node:os";
import { World } from "./world.mjs";

/**
 * @typedef {import("./builds.mjs").Build} Build
 * @typedef {import("./scenarios/scenario.mjs").Scenario} Scenario
 * @typedef {import("./scenarios/scenario.mjs").Row} Row
 * @typedef {import("./options.mjs").Size} Size
 *
 * @typedef {object} RawRow
 * @property {string} scenario
 * @property {number} size
 * @property {string} build
 * @property {number} round
 * @property {string} at
 * @property {number} load average of the last minute, before the row
 * @property {Row} values
 *
 * @typedef {object} Failure
 * @property {string} scenario
 * @property {string} build
 * @property {string} message
 */

export class Measurements {
  #builds;
  #profiles;
  /** @type {Map<string, World>} open worlds by build and options */
  #worlds = new Map();
  /** @type {RawRow[]} */
  rows = [];
  /** @type {Failure[]} */
  failures = [];
  /** Of the first world: how long a commit of one row takes, milliseconds. */
  commitMs = Number.NaN;

  /**
   * @param {readonly Build[]} builds
   * @param {string} [profiles]
   */
  constructor(builds, profiles) {
    this.#builds = builds;
    this.#profiles = profiles;
  }

  /**
   * @param {Scenario} scenario
   * @param {{ size: Size, rounds: number | undefined, onRow: () => void }} options
   */
  async measure(scenario, { size, rounds, onRow }) {
    const count = scenario.sizes[size];
    if (scenario.own) await this.close();
    const times = { warmUps: size === "tiny" ? 0 : (scenario.warmUps ?? 1), rounds: rounds ?? scenario.rounds };
    for (let round = -times.warmUps; round < times.rounds; round++) {
      for (const build of this.#able(scenario)) {
        const [load = Number.NaN] = loadavg();
        const at = new Date().toISOString();
        const values = await this.#row(scenario, build, count);
        if (scenario.own === "row") await this.close();
        if (values === undefined || round < 0) continue;
        this.rows.push({ scenario: scenario.name, size: count, build: build.label, round, at, load, values });
        onRow();
      }
    }
    if (scenario.own) await this.close();
  }

  /** Builds that have not failed at this scenario. @param {Scenario} scenario */
  #able({ name }) {
    return this.#builds.filter(
      ({ label }) => !this.failures.some((one) => one.scenario === name && one.build === label),
    );
  }

  /**
   * @param {Scenario} scenario
   * @param {Build} build
   * @param {number} count
   * @returns {Promise<Row | undefined>} nothing when the build cannot do it
   */
  async #row(scenario, build, count) {
    const options = scenario.world ?? {};
    const key = `${build.label} ${JSON.stringify(options)}`;
    try {
      const world = this.#worlds.get(key) ?? (await this.#open(key, build, options));
      return await scenario.measure(world, count);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.failures.push({ scenario: scenario.name, build: build.label, message });
      // What went wrong may go on: the next scenario begins with a new world.
      await this.#worlds.get(key)?.close();
      this.#worlds.delete(key);
      return undefined;
    }
  }

  /**
   * @param {string} key
   * @param {Build} build
   * @param {import("./world.mjs").WorldOptions} options
   */
  async #open(key, build, options) {
    // Worlds of other options are not needed any more: they would only take memory.
    const suffix = key.slice(build.label.length);
    for (const [other, world] of [...this.#worlds]) {
      if (other.endsWith(suffix)) continue;
      this.#worlds.delete(other);
      await world.close();
    }
    const world = await World.open({ build, options, ...(this.#profiles ? { profiles: this.#profiles } : {}) });
    this.#worlds.set(key, world);
    if (Number.isNaN(this.commitMs)) this.commitMs = await world.commitMs();
    return world;
  }

  async close() {
    const worlds = [...this.#worlds.values()];
    this.#worlds.clear();
    await Promise.all(worlds.map((world) => world.close()));
  }

  /** Rows of a scenario, of each build. @param {string} name */
  rowsOf(name) {
    return this.#builds.map(({ label }) =>
      this.rows.filter((row) => row.scenario === name && row.build === label).map(({ values }) => values),
    );
  }
}
