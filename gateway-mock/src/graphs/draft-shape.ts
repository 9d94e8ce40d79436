/**
 * What a draft must be to be kept: its lists may be empty, its nodes and edges may lack parts and need not fit together,
 * but what is there has the form that graphs have. So all that reads drafts (editors, pictures, the dashboard) can rely
 * on that.
 */
import { describeValue } from "@holdfast/core";
import { GRAPH_LIMITS, type GraphProblem } from "@holdfast/graph/definition";
import { isRecord } from "@holdfast/protocol";

/** Why it is not kept; none = it is. Its title and its size `validateGraph` looks at: see `keepsOut`. */
export function draftProblems(value: unknown, id: string): GraphProblem[] {
  if (!isRecord(value)) {
    return [
      { code: "SHAPE_INVALID", message: "A graph is an object.", fix: "Give `id`, `title`, `nodes` and `edges`." },
    ];
  }
  const found: GraphProblem[] = [];
  if (value.id !== id) {
    const message = `The graph's \`id\` is not "${id}", which the path names.`;
    found.push({ code: "ID_INVALID", path: "id", message, fix: "Give both the same id." });
  }
  for (const name of ["nodes", "edges"]) {
    if (value[name] !== undefined) continue;
    const fix = `Give a list of ${name}; it may be empty.`;
    found.push({ code: "SHAPE_INVALID", path: name, message: `\`${name}\` is missing.`, fix });
  }
  for (const problem of malformed("", value, GRAPH)) {
    found.push(problem);
    if (found.length === GRAPH_LIMITS.maxProblems) break;
  }
  return found;
}

/** Whether a draft with this problem, one of those that `validateGraph` finds, is not kept either. */
export const keepsOut = ({ code, path }: GraphProblem): boolean =>
  path === "title" || (code === "TOO_LARGE" && path === undefined);

/** A form that a value may have: a kind of value, a list of one form, or an object of which some fields have forms. */
type Form =
  | "text"
  | "object"
  | "schema"
  | { readonly listOf: Form }
  | { readonly fields: Readonly<Record<string, Form>> };

const GRAPH: Form = {
  fields: {
    nodes: { listOf: { fields: { id: "text", type: "text", title: "text", config: "object", compensate: "object" } } },
    edges: { listOf: { fields: { from: "text", to: "text", handle: "text" } } },
    input: "schema",
    trigger: { fields: { events: { listOf: "object" }, cron: { listOf: "object" } } },
  },
};

/** What is there and has another form. What else is missing is added later. */
function* malformed(path: string, value: unknown, form: Form): Iterable<GraphProblem> {
  if (!hasForm(value, form)) return yield problemAt(path, value, form);
  if (typeof form === "string") return;
  if ("listOf" in form) {
    for (const [index, one] of (Array.isArray(value) ? value : []).entries()) {
      yield* malformed(`${path}[${index}]`, one, form.listOf);
    }
  } else if (isRecord(value)) {
    for (const [name, inner] of Object.entries(form.fields)) {
      const field = Object.hasOwn(value, name) ? value[name] : undefined;
      if (field !== undefined) yield* malformed(path === "" ? name : `${path}.${name}`, field, inner);
    }
  }
}

function hasForm(value: unknown, form: Form): boolean {
  if (form === "text") return typeof value === "string";
  if (form === "schema") return isRecord(value) || typeof value === "boolean";
  return form !== "object" && "listOf" in form ? Array.isArray(value) : isRecord(value);
}

function problemAt(path: string, value: unknown, form: Form): GraphProblem {
  const wanted =
    form === "text"
      ? "a text"
      : form === "schema"
        ? "a JSON Schema"
        : form !== "object" && "listOf" in form
          ? "a list"
          : "an object";
  const message = `\`${path}\` is ${wanted}, not ${describeValue(value)}.`;
  const fix = `Give ${wanted}, or leave it out until it is known.`;
  return { code: "SHAPE_INVALID", path, message, fix };
}
