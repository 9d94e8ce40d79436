/**
 * A workflow that a customer has drawn: it is stored, published, run, and edited while a run of it goes on. The run that
 * had begun ends by the version that it began with.
 */
import { readFileSync } from "node:fs";
import { graphs, nodeType } from "@holdfast/graph";
import { Holdfast } from "holdfast";

/** @typedef {import("@holdfast/graph").Graph} Graph */

/** @type {Graph} */
const onboarding = JSON.parse(readFileSync(new URL("onboarding.json", import.meta.url), "utf8"));

/** The database of the product. */
const customers = {
  acme: { name: "Acme", seats: 25, people: ["ann@acme.test", "bo@acme.test", "cy@acme.test"] },
  tiny: { name: "Tiny", seats: 2, people: ["di@tiny.test"] },
};

/** What those who draw may ask it for. @type {Record<string, (args: any) => unknown>} */
const queries = {
  customerById: ({ id }) => customers[/** @type {keyof typeof customers} */ (id)],
  invite: ({ email, of }) => ({ email, of, invited: true }),
};

/** A Standard Schema, as zod and valibot make them. @type {any} */
const config = {
  "~standard": {
    version: 1,
    vendor: "demo",
    validate: (/** @type {any} */ value) =>
      typeof queries[value?.query] === "function"
        ? { value }
        : { issues: [{ message: "There is no such query.", path: ["query"] }] },
  },
};

const dataQuery = nodeType({
  type: "dataQuery",
  summary: "Asks the product's database.",
  config,
  run: ({ config: { query, args } }) => queries[query]?.(args),
});

/** The same, as its editor has changed it: another text, and a record of it. @returns {Graph} */
const edited = () => ({
  ...onboarding,
  nodes: [
    ...onboarding.nodes.map((node) =>
      node.id === "welcome" ? { ...node, config: { code: "return 'Hello ' + ctx.customer.name + '!';" } } : node,
    ),
    { id: "record", type: "dataQuery", config: { query: "invite", args: { email: "archive@shop.test" } } },
  ],
  edges: [
    ...onboarding.edges.filter(({ from }) => from !== "welcome"),
    { from: "welcome", to: "record" },
    { from: "record", to: "done" },
  ],
});

/**
 * @param {string} url of the gateway
 * @param {(what: string) => void} say
 */
export async function story(url, say) {
  const app = new Holdfast({ id: "product", baseUrl: url, isDev: true });
  const flows = graphs(app, { nodeTypes: [dataQuery] });
  const connection = await app.connect({ functions: [flows.runner], handleShutdownSignals: [] });
  try {
    const draft = await flows.put(onboarding, { expectedRevision: 0 });
    const first = await flows.publish("onboarding");
    say(`Stored (${draft.problems.length} problems) and published as version ${first.version}.`);

    const large = await flows.execute("onboarding", { customer: "acme" });
    for await (const { nodes } of flows.follow(large.id)) {
      if (nodes.some(({ id, status }) => id === "approval" && status === "running")) break;
    }
    say("A run of it waits until sales agrees.");

    await flows.put(edited(), { expectedRevision: draft.revision });
    const second = await flows.publish("onboarding");
    say(`Meanwhile it is edited, and published as version ${second.version}.`);
    const conflict = await flows.put(onboarding, { expectedRevision: draft.revision }).catch((error) => error.code);
    say(`Another editor, who has not seen that, is refused: ${conflict}.`);

    const small = await flows.execute("onboarding", { customer: "tiny" });
    const ofSmall = await small.result({ timeout: "30s" });
    say(`A run of the new version: ${JSON.stringify(ofSmall)}`);

    await app.sendSignal({ signal: `graph:${large.id}:approval`, data: { approved: true } });
    const ofLarge = await large.result({ timeout: "30s" });
    say(`Sales agrees; the first run ends by the version that it began with: ${JSON.stringify(ofLarge)}`);

    const { nodes } = await flows.status(large.id);
    const states = nodes.map(({ key, status }) => `${key} ${status}`);
    say(`Its nodes: ${states.join(", ")}.`);

    const test = await flows.test({ ...edited(), id: "sketch" }, { customer: "tiny" });
    const ofTest = await test.result({ timeout: "30s" });
    await flows.stopTest(test.id);
    const left = await flows.status(test.id).catch((error) => error.code);
    say(`A sketch that is not stored was tried: ${JSON.stringify(ofTest)}. What is left of it: ${left}.`);

    return { ofLarge, ofSmall, ofTest, conflict, left, states, versions: [first.version, second.version] };
  } finally {
    await connection.close();
  }
}
