/** What a scenario is, and the lines that many of them show. One measurement of a scenario is one raw row. */

/**
 * @typedef {import("../world.mjs").World} World
 * @typedef {import("../world.mjs").WorldOptions} WorldOptions
 * @typedef {import("../options.mjs").Size} Size
 * @typedef {Record<string, number>} Row measured values by name
 *
 * @typedef {object} Scenario
 * @property {string} name for `--only`
 * @property {string} title `{n}` in it stands for the size
 * @property {number} rounds how often it is measured
 * @property {number} [warmUps] how often before, without being counted; default 1
 * @property {Readonly<Record<Size, number>>} sizes how many of what the title says
 * @property {WorldOptions} [world]
 * @property {"scenario" | "row"} [own] a world that nothing else has used: for all of its rows, or for each of them
 * @property {boolean} [onRequest] only when `--only` names it
 * @property {(world: World, size: number) => Promise<Row>} measure
 * @property {readonly Shown[]} shown
 *
 * @typedef {object} Shown a line of the table
 * @property {string} label
 * @property {string} value name of a value of the rows; their median is shown
 * @property {number} digits
 * @property {"higher" | "lower"} better
 * @property {number} [aim]
 */

/** App and gateway are measured as they are after some seconds at work: until then half of the time is the compiler's. */
export const WARM_UPS = 3;

/** @type {readonly Shown[]} */
export const costsOfRuns = [
  { label: "CPU of the app per run, µs", value: "appCpuUs", digits: 0, better: "lower" },
  { label: "CPU of the gateway per run, µs", value: "gatewayCpuUs", digits: 0, better: "lower" },
  { label: "CPU of Postgres per run, µs", value: "postgresCpuUs", digits: 0, better: "lower" },
  { label: "WAL bytes per run", value: "walBytes", digits: 0, better: "lower" },
  { label: "commits per run", value: "commits", digits: 3, better: "lower" },
];

/** @param {number} [aim] @returns {Shown} */
export const runsPerSecond = (aim) => ({
  label: "runs/s",
  value: "runsPerSecond",
  digits: 0,
  better: "higher",
  ...(aim === undefined ? {} : { aim }),
});

/** Every event names one of these. */
const LANES = 100;

/**
 * Events of one name in as few requests as the gateway accepts comfortably, all at once.
 * @param {World} world
 * @param {string} name
 * @param {number} count
 */
export async function sendAll(world, name, count) {
  const perRequest = 1000;
  const requests = Array.from({ length: Math.ceil(count / perRequest) }, (_, request) =>
    Array.from({ length: Math.min(perRequest, count - request * perRequest) }, (_, index) => ({
      name,
      data: { index: request * perRequest + index, lane: index % LANES },
    })),
  );
  // Some at a time: a million events would not fit into this process otherwise.
  const queue = requests.values();
  const sender = async () => {
    for (const events of queue) await world.api.send(events);
  };
  await Promise.all(Array.from({ length: 4 }, sender));
}
