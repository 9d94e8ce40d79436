/** The fields of an event, and paths into it as `match` has them: "data.orderId". */

/** What expressions and handlers may find in an event. */
export const EVENT_FIELDS = ["data", "user", "name", "ts", "id", "v", "meta"] as const;

/** Why a path leads to no field of an event, to follow its place in a message; null when it may lead to one. */
export function matchPathProblem(path: string): string | null {
  const [, first = "", rest = ""] = /^\s*([^.[\s]*)(.*)$/s.exec(path) ?? [];
  if (EVENT_FIELDS.some((field) => field === first)) return null;
  const isVariable = first === "event" || first === "async";
  const own = isVariable ? rest.replace(/^\./, "") : path.trim();
  const why = isVariable
    ? "it is a path within both events, without the variable"
    : `an event has no field \`${first.slice(0, 100)}\`, only ${EVENT_FIELDS.map((field) => `\`${field}\``).join(", ")}`;
  const isWhole = isVariable && own !== "" && matchPathProblem(own) === null;
  const written = isWhole ? own : `data.${own || "orderId"}`;
  return `is ${JSON.stringify(path.slice(0, 200))}: ${why}. Write ${JSON.stringify(written.slice(0, 200))}`;
}
