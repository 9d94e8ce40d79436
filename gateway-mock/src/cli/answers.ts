/**
 * What the answers that commands read have at least, by their routes: something else that answers, such as another
 * program behind the address, is told from a gateway of any version by that. Pure.
 */

type Kind = "list" | "text" | "number" | "object";
type Fields = Readonly<Record<string, Kind>>;

const JOB: Fields = { id: "text", status: "text" };

/** The first that fits; of other routes an answer has something at least. */
const ROUTES: readonly (readonly [method: string, path: RegExp, fields: Fields])[] = [
  ["POST", /^\/e\/[^/]+$/, { ids: "list" }],
  ["GET", /^\/dev$/, { functions: "list" }],
  ["GET", /^\/v1\/runs$/, { runs: "list" }],
  ["GET", /^\/v1\/runs\/[^/]+$/, { id: "text", status: "text" }],
  ["POST", /^\/v1\/runs\/[^/]+\/(cancel|resume|compensations\/retry)$/, { run: "object" }],
  ["POST", /^\/v1\/runs\/[^/]+\/(rerun|fork)$/, { runId: "text" }],
  ["GET", /^\/v1\/events\/[^/]+$/, { runIds: "list" }],
  ["GET", /^\/v1\/workers$/, { workers: "list" }],
  ["POST", /^\/v1\/workers\/[^/]+\/(drain|resume)$/, { instanceId: "text" }],
  ["GET", /^\/v1\/functions$/, { functions: "list" }],
  ["GET", /^\/v1\/environments$/, { environments: "list" }],
  ["GET", /^\/v1\/bulk$/, { jobs: "list" }],
  ["GET", /^\/v1\/bulk\/[^/]+$/, JOB],
  ["GET", /^\/v1\/graphs$/, { graphs: "list" }],
  ["POST", /^\/v1\/signals$/, { data: "object" }],
];

/** What it lacks, as a sentence names it; null: nothing that is known of. */
export function lackOf(
  method: string,
  path: string,
  asked: unknown,
  answer: Readonly<Record<string, unknown>>,
): string | null {
  const [plain = ""] = path.split("?", 1);
  const fields = method === "POST" && plain === "/v1/bulk" ? bulkFields(asked) : fieldsOf(method, plain);
  const missing = Object.entries(fields).find(([name, kind]) => !isOf(kind, answer[name]));
  if (missing) return `no \`${missing[0]}\``;
  return Object.keys(answer).length === 0 ? "nothing" : null;
}

const fieldsOf = (method: string, path: string): Fields =>
  ROUTES.find(([one, pattern]) => one === method && pattern.test(path))?.[2] ?? {};

/** Asked how many runs fit, it says so; else it has made a job. */
function bulkFields(asked: unknown): Fields {
  const isDry = typeof asked === "object" && asked !== null && "dryRun" in asked && asked.dryRun === true;
  return isDry ? { count: "number" } : JOB;
}

function isOf(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case "list":
      return Array.isArray(value);
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "object":
      return typeof value === "object" && value !== null;
  }
}
