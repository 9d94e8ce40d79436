/** The value by which a wait is found instead of evaluating its condition for each event (docs/decisions/0034). */
import type { ASTNode } from "@marcbachmann/cel-js";
import { sha256 } from "../digest.ts";
import { conjunctsOf, type Path, pathOf } from "./tree.ts";

/**
 * A condition's demand that a field of the incoming event equals something that is known when the wait begins. With it
 * waits are found by value: what does not fulfil it cannot fulfil the condition. What fulfils it may; the condition has
 * the last word.
 */
export interface Equality {
  /** In the incoming event. */
  readonly path: Path;
  readonly equals:
    | { readonly type: "field"; readonly path: Path }
    | { readonly type: "value"; readonly value: unknown };
}

/** Longer ones would make the index large. */
const MAX_PATH_LENGTH = 200;
const MISSING = null;

/** A field of the run's own event separates runs best, a fixed value only kinds of events. */
export function equalityOf(condition: ASTNode): Equality | null {
  const found = conjunctsOf(condition).flatMap((node) => {
    if (node.op !== "==") return [];
    const [left, right] = node.args;
    const one = oneWay(left, right) ?? oneWay(right, left);
    return one ? [one] : [];
  });
  return found.find(({ equals }) => equals.type === "field") ?? found[0] ?? null;
}

function oneWay(incoming: ASTNode, other: ASTNode): Equality | null {
  const path = pathOf(incoming);
  if (path?.[0] !== "async" || path.length < 2 || pathText(path.slice(1)).length > MAX_PATH_LENGTH) return null;
  const own = pathOf(other);
  if (own?.[0] === "event") return { path: path.slice(1), equals: { type: "field", path: own.slice(1) } };
  if (other.op !== "value" || digestOf(other.args) === undefined) return null;
  return { path: path.slice(1), equals: { type: "value", value: other.args } };
}

/** What a wait is found by; "" when the value is none that can be looked up. `event` is the run's own. */
export function expectedMatch({ path, equals }: Equality, event: unknown): string {
  const digest = digestOf(equals.type === "field" ? fieldOf(event, equals.path) : equals.value);
  return digest === undefined ? "" : `${pathText(path)}\n${digest}`;
}

/**
 * Text that the JSON of an event which fulfils it contains, unless it is written with escapes or exponents; null: there
 * is none that would tell events apart.
 */
export function expectedText({ equals }: Equality, event: unknown): string | null {
  const value = equals.type === "field" ? fieldOf(event, equals.path) : equals.value;
  if (typeof value === "string") return JSON.stringify(value) === `"${value}"` ? `"${value}"` : null;
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  return Number.isSafeInteger(Number(value)) ? String(value) : null;
}

/** What the waits that an incoming event may concern are found by. `paths` are the places that some of them look at. */
export function matchesOf(paths: readonly string[], incoming: unknown): string[] {
  const found = paths.flatMap((text) => {
    const digest = digestOf(fieldOf(incoming, JSON.parse(text)));
    return digest === undefined ? [] : [`${text}\n${digest}`];
  });
  return ["", ...found];
}

const pathText = (path: Path): string => JSON.stringify(path);

/** As expressions see it: what is not there is null. */
export function fieldOf(value: unknown, path: Path): unknown {
  let at = value;
  try {
    for (const name of path) {
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return MISSING;
      at = (at as Record<string, unknown>)[name];
    }
  } catch {
    // More than expressions may look at: nothing that equals something.
    return {};
  }
  return at;
}

/** Equal for values that expressions hold for equal; undefined for lists, objects and numbers that lose digits. */
function digestOf(value: unknown): string | undefined {
  const text = scalarText(value);
  return text === undefined ? undefined : sha256(text).toString("base64url").slice(0, 22);
}

function scalarText(value: unknown): string | undefined {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return `"${value}`;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value !== "bigint") return undefined;
  return Number.isSafeInteger(Number(value)) ? String(value) : undefined;
}
