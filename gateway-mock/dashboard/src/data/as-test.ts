/** A run as a test of its function: the event it got, and for each step what it gave. Pure. */
import { BUILT_IN_TYPES, type Graph, graphOfRun, isOfGraph, type NodeState } from "./graphs.ts";
import type { RunDetail, Step } from "./types.ts";

const KEPT_FIELDS = ["name", "data"] as const;

/** What is tested: what the file imports and makes, and by which name it has the function then. */
interface Tested {
  readonly imports: readonly string[];
  readonly lines: readonly string[];
  readonly variable: string;
}

/** @param nodes of a run of a graph: the keys of its nodes are the ids of their steps */
export function testOf(run: RunDetail, nodes: readonly Pick<NodeState, "stepId" | "key">[] = []): string {
  const { functionId, appId, status, output, id } = run;
  const name = functionId.startsWith(`${appId}-`) ? functionId.slice(appId.length + 1) : functionId;
  const graph = isOfGraph(run.eventName) ? graphOfRun(run.event) : null;
  const { imports, lines, variable } = graph === null ? functionOf(name) : runnerOf(run, name, graph);
  const keys = new Map(nodes.map(({ stepId, key }) => [stepId, key]));
  const steps = run.steps.flatMap((step) => stepLine(step, keys.get(step.id) ?? step.name));
  const failure = (run.error ?? {}) as { readonly message?: string };
  const end =
    status === "FAILED"
      ? `expect(run.error?.message).toBe(${js(failure.message ?? "")});`
      : `expect(run.output).toEqual(${js(output, 2)});`;
  const tested = graph === null ? name : `the graph ${graph.id}`;
  return `${imports.map((line) => `${line}\n`).join("")}
${lines.map((line) => `${line}\n`).join("")}// Run ${id}, ${status.toLowerCase()}.
test(${js(`${tested} does what it did in run ${id}`)}, async () => {
  const tested = new FunctionTest(${variable}, {
    event: ${js(eventOf(run.event), 4)},
    steps: [${steps.length === 0 ? "" : `\n${steps.map((line) => `      ${line},`).join("\n")}\n    `}],
  });

  const run = await tested.run();
  ${end}
});
`;
}

const IMPORTS = ['import { FunctionTest } from "holdfast/testing";', 'import { expect, test } from "vitest";'] as const;

/** A function of the app, which is where its author has it. */
function functionOf(name: string): Tested {
  const variable = variableOf(name);
  return { imports: [...IMPORTS, `import { ${variable} } from "./functions.js";`], lines: [], variable };
}

/** What runs graphs is in no file of the app's: it is made here, with types in place of the app's own. */
function runnerOf({ appId, event }: RunDetail, name: string, graph: Graph): Tested {
  const { graphs = {} } = ((event as { readonly data?: object }).data ?? {}) as { graphs?: Record<string, Graph> };
  const types = ownTypesOf([graph, ...Object.values(graphs)]);
  const own = Object.keys(types).length > 0;
  const options = `${name === "graphs" ? "" : `id: ${js(name)}, `}${own ? "nodeTypes" : ""}`.replace(/, $/, "");
  return {
    imports: [
      'import { Holdfast } from "holdfast";',
      `import { graphs${own ? ", nodeType" : ""} } from "@holdfast/graph";`,
      ...IMPORTS,
    ],
    lines: [
      ...(own ? typesLines(types) : []),
      `const app = new Holdfast({ id: ${js(appId)}, isDev: true });`,
      `const { runner } = graphs(app${options === "" ? "" : `, { ${options} }`});`,
      "",
    ],
    variable: "runner",
  };
}

const typesLines = (types: Readonly<Record<string, readonly string[]>>): string[] => [
  "// In place of the node types of the app. Import your own, and leave out the steps whose nodes are to run.",
  `const nodeTypes = Object.entries(${js(types)}).map(([type, handles]) =>`,
  "  nodeType({",
  "    type,",
  "    handles,",
  '    config: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },',
  "    run: ({ nodeId }) => {",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is filled in by the test that is written
  "      throw new Error(`The test says nothing of the node ${nodeId}.`);",
  "    },",
  "  }),",
  ");",
];

/** The types that are not built in, and the ways on of their own. */
function ownTypesOf(graphs: readonly Graph[]): Record<string, string[]> {
  const nodes = graphs.flatMap((graph) => graph.nodes);
  const types = new Set(nodes.flatMap(({ type, compensate }) => (compensate ? [type, compensate.type] : [type])));
  const own = [...types].filter((type) => !BUILT_IN_TYPES.has(type));
  return Object.fromEntries(own.map((type) => [type, handlesOf(type, graphs)]));
}

function handlesOf(type: string, graphs: readonly Graph[]): string[] {
  const handles = graphs.flatMap(({ nodes, edges }) => {
    const ids = new Set(nodes.filter((node) => node.type === type).map(({ id }) => id));
    return edges.flatMap(({ from, handle = "out" }) => (ids.has(from) ? [handle] : []));
  });
  return [...new Set(handles)].filter((handle) => handle !== "out" && handle !== "error");
}

function eventOf(event: unknown): unknown {
  const all = (event ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(KEPT_FIELDS.map((field) => [field, all[field]]));
}

/** Sleeps are skipped by the test itself, and a step without an end has nothing to answer. */
function stepLine({ op, status, output, error }: Step, id: string | null): string[] {
  if (id === null || op === "Sleep") return [];
  if (status === "completed") return [`{ id: ${js(id)}, handler: () => ${answerOf(op, output)} }`];
  if (status !== "failed") return [];
  return [`{ id: ${js(id)}, handler: () => Promise.reject(${errorOf(error)}) }`];
}

/** What the author of a test gives in place of what is on record. */
function answerOf(op: string, output: unknown): string {
  const recorded = (output ?? null) as null | Readonly<Record<string, unknown>>;
  if (op === "WaitForSignal" && recorded !== null) return `(${js(recorded.data ?? {}, 8)})`;
  if (op !== "Gateway" || typeof recorded?.status_code !== "number") return `(${js(recorded, 8)})`;
  const { status_code: status, headers = {}, body = "" } = recorded;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return `new Response(${text === "" ? "null" : js(text)}, ${js({ status, headers }, 8)})`;
}

function errorOf(error: unknown): string {
  const { message = "", name = "Error", code } = (error ?? {}) as Readonly<Record<string, string | undefined>>;
  const fields = { ...(name === "Error" ? {} : { name }), ...(code === undefined ? {} : { code }) };
  const made = `new Error(${js(message)})`;
  return Object.keys(fields).length === 0 ? made : `Object.assign(${made}, ${js(fields)})`;
}

/** JSON is JavaScript; what follows the first line is moved in. */
function js(value: unknown, indent = 0): string {
  const text = JSON.stringify(value, null, JSON.stringify(value)?.length > 60 ? 2 : 0) ?? "undefined";
  return text.replaceAll("\n", `\n${" ".repeat(indent)}`);
}

function variableOf(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const text = words.map((word, at) => (at === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
  return /^[A-Za-z]/.test(text) ? text : `fn${text}`;
}
