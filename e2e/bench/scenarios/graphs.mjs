/** What it costs to run a graph, beside the same written as a function: both in turn, by one worker at one gateway. */
import { sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

const APP = "graphs";
const names = (/** @type {number} */ count) => Array.from({ length: count }, (_, index) => `n${index}`);
const node = (/** @type {string} */ id, /** @type {object} */ config = {}) => ({ id, type: "work", config });

/** @param {string} id @param {readonly object[]} nodes @param {readonly (readonly [string, string])[]} edges */
const graph = (id, nodes, edges) => ({
  id,
  title: id,
  nodes: [{ id: "start", type: "start" }, ...nodes, { id: "end", type: "end" }],
  edges: edges.map(([from, to]) => ({ from, to })),
  trigger: { events: [{ event: `${APP}/${id}` }] },
});

const CHAIN = 5;
const FAN = 100;
const graphs = [
  graph(
    "graph-chain",
    names(CHAIN).map((id, index) => node(id, index === CHAIN - 1 ? { last: true } : {})),
    ["start", ...names(CHAIN)].map((id, index) => [id, index === CHAIN ? "end" : `n${index}`]),
  ),
  graph(
    "graph-fan",
    [...names(FAN).map((id) => node(id)), node("last", { last: true })],
    [
      ...names(FAN).flatMap(
        (id) =>
          /** @type {[string, string][]} */ ([
            ["start", id],
            [id, "last"],
          ]),
      ),
      ["last", "end"],
    ],
  ),
];

/** @type {WeakSet<World>} */
const published = new WeakSet();

/** @param {World} world */
async function appOf(world) {
  await world.appOf(APP, { BENCH_GRAPHS: "1" });
  if (published.has(world)) return;
  for (const one of graphs) {
    await call(world, "PUT", `/v1/graphs/${one.id}`, { graph: one, app: APP });
    await call(world, "POST", `/v1/graphs/${one.id}/publish`, {});
  }
  published.add(world);
}

/** @param {World} world @param {string} method @param {string} path @param {object} body */
async function call(world, method, path, body) {
  const response = await fetch(new URL(path, world.api.url), { method, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
}

/** @param {string} shape @param {number} steps of each run */
const beside = (shape, steps) => async (/** @type {World} */ world, /** @type {number} */ runs) => {
  await appOf(world);
  const rate = async (/** @type {string} */ name) =>
    (runs * steps) / (await world.runs(runs, () => sendAll(world, `${APP}/${name}`, runs))).seconds;
  const asFunction = await rate(`function-${shape}`);
  const asGraph = await rate(`graph-${shape}`);
  return {
    asFunction: asFunction / steps,
    asGraph: asGraph / steps,
    stepsPerSecond: asGraph,
    ratio: asGraph / asFunction,
  };
};

/** @type {Scenario["shown"]} */
const shown = [
  { label: "runs/s as a function", value: "asFunction", digits: 0, better: "higher" },
  { label: "runs/s as a graph", value: "asGraph", digits: 0, better: "higher" },
  { label: "steps/s as a graph", value: "stepsPerSecond", digits: 0, better: "higher" },
  { label: "ratio", value: "ratio", digits: 2, better: "higher", aim: 0.7 },
];

/** @type {readonly Scenario[]} */
export const graphScenarios = [
  {
    name: "graph-chain",
    title: `{n} runs of ${CHAIN} nodes in a row, as a graph and as a function`,
    rounds: 5,
    warmUps: 2,
    sizes: { tiny: 3, quick: 500, usual: 1500, large: 5000 },
    measure: beside("chain", CHAIN),
    shown,
  },
  {
    name: "graph-fan",
    title: `{n} runs of ${FAN} nodes side by side and one after them, as a graph and as a function`,
    rounds: 5,
    warmUps: 2,
    sizes: { tiny: 1, quick: 40, usual: 100, large: 400 },
    measure: beside("fan", FAN + 1),
    shown,
  },
];
