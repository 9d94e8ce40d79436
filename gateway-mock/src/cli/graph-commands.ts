/** The commands about graphs: list, show, store, publish, run, delete. */
import { integer, type OptionRow, SWITCH, TEXT } from "../config/option-kinds.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";

const TENANT = {
  tenant: {
    kind: TEXT,
    flag: { name: "tenant", takes: "<name>" },
    variables: [],
    doc: "whose graph it is; default: that of the one owner",
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

const text = (name: string, takes: string, doc: string) =>
  ({ kind: TEXT, flag: { name, takes }, variables: [], doc }) as const satisfies OptionRow;

const whole = (name: string, least: number, doc: string) =>
  ({
    kind: integer(least, 2_147_483_647),
    flag: { name, takes: "<n>" },
    variables: [],
    doc,
  }) as const satisfies OptionRow;

export const GRAPHS_OPTIONS = {
  ...TENANT,
  limit: { ...whole("limit", 1, "how many"), default: 50 },
  cursor: text("cursor", "<cursor>", "go on where the last page ended"),
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_GET_OPTIONS = {
  ...TENANT,
  graphVersion: text("graph-version", "<n>", "a version's number, or published; default: the draft"),
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_PUT_OPTIONS = {
  ...TENANT,
  app: text("app", "<id>", "the app that runs it; default: the only one that runs graphs"),
  revision: whole("revision", 0, "only if the draft still has this revision; 0 = only if there is none"),
  publish: {
    kind: SWITCH,
    flag: { name: "publish", sets: true },
    variables: [],
    default: false,
    doc: "publish it, too",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_PUBLISH_OPTIONS = {
  ...TENANT,
  graphVersion: whole("graph-version", 1, "publish this version again; default: a new one, of the draft"),
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_OPTIONS = { ...TENANT, ...CLIENT_OPTIONS } as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_RUN_OPTIONS = {
  ...TENANT,
  input: text("input", "<json>", "the run's input; @file reads a file, - reads stdin"),
  graphVersion: whole("graph-version", 1, "of the graph; default: the published one"),
  id: text("id", "<id>", "the same id again is the same run"),
  app: text("app", "<id>", "the app that runs it; default: the one it was stored with"),
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const GRAPH_DELETE_OPTIONS = {
  ...TENANT,
  force: {
    kind: SWITCH,
    flag: { name: "force", sets: true },
    variables: [],
    default: false,
    doc: "also while runs of it go on; they go on all the same",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

const GRAPH = { name: "<graph>", doc: "the graph's id" };

export const GRAPH_COMMANDS: readonly CommandSpec[] = [
  {
    name: "graphs",
    group: WORK_WITH_IT,
    summary: "list graphs; store, publish and run them",
    description: "Lists graphs: their drafts' revisions, and which version is published.",
    args: [],
    rows: GRAPHS_OPTIONS,
    examples: [
      { doc: "All", line: "holdfast-gateway graphs" },
      { doc: "Those of a customer", line: "holdfast-gateway graphs --tenant acme" },
    ],
  },
  {
    name: "graphs get",
    group: WORK_WITH_IT,
    summary: "print a graph as JSON",
    description: "Prints a graph as JSON: its draft, or one of its versions. --json prints what is known of it, too.",
    args: [GRAPH],
    rows: GRAPH_GET_OPTIONS,
    examples: [
      {
        doc: "Into a file",
        line: "holdfast-gateway graphs get onboarding --graph-version published > onboarding.json",
      },
    ],
  },
  {
    name: "graphs put",
    group: WORK_WITH_IT,
    summary: "store a graph as a draft",
    description:
      "Stores the graph of a file as a draft, and says what keeps it from being published. Versions, triggers and runs stay\nas they are.",
    args: [{ name: "<file>", doc: "JSON; - reads stdin" }],
    rows: GRAPH_PUT_OPTIONS,
    examples: [
      { doc: "A draft", line: "holdfast-gateway graphs put onboarding.json" },
      { doc: "And publish it", line: "holdfast-gateway graphs put onboarding.json --publish" },
    ],
  },
  {
    name: "graphs publish",
    group: WORK_WITH_IT,
    summary: "publish the draft of a graph, or an earlier version",
    description:
      "Makes a version of the draft and publishes it, or publishes an earlier version again. Its triggers take the place of\nthose of the version before; runs that go on keep theirs.",
    args: [GRAPH],
    rows: GRAPH_PUBLISH_OPTIONS,
    examples: [
      { doc: "The draft", line: "holdfast-gateway graphs publish onboarding" },
      { doc: "Back to an earlier version", line: "holdfast-gateway graphs publish onboarding --graph-version 3" },
    ],
  },
  {
    name: "graphs unpublish",
    group: WORK_WITH_IT,
    summary: "publish no version of a graph any more",
    description: "Publishes no version of a graph any more, so that nothing triggers it. Draft and versions stay.",
    args: [GRAPH],
    rows: GRAPH_OPTIONS,
    examples: [{ doc: "Until it is published again", line: "holdfast-gateway graphs unpublish onboarding" }],
  },
  {
    name: "graphs run",
    group: WORK_WITH_IT,
    summary: "start a run of a graph",
    description: "Starts a run of a graph, and prints its id. What becomes of the graph later does not touch the run.",
    args: [GRAPH],
    rows: GRAPH_RUN_OPTIONS,
    examples: [{ doc: "With an input", line: `holdfast-gateway graphs run onboarding --input '{"customer":7}'` }],
  },
  {
    name: "graphs delete",
    group: WORK_WITH_IT,
    summary: "delete a graph with its versions and triggers",
    description: "Deletes a graph with its versions and triggers. Its runs stay, and those that go on go on.",
    args: [GRAPH],
    rows: GRAPH_DELETE_OPTIONS,
    examples: [{ doc: "Also while it runs", line: "holdfast-gateway graphs delete onboarding --force" }],
  },
];
