/** Reads a fault as it was asked for; of what is wrong it says how to write it. Pure. */
import { HoldfastError, MAX_DURATION_MS, nearestName, unreachable } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import {
  edgeOf,
  FAULT_KINDS,
  FAULT_NAMES,
  type FaultKind,
  type FaultSetting,
  type FaultWhere,
  STORE_OPERATIONS,
  WIRE_KINDS,
} from "./fault-kinds.ts";
import {
  DIRECTIONS,
  type FaultAction,
  type FaultPlace,
  type FaultRule,
  MOMENTS,
  REFUSAL_STATUSES,
} from "./fault-rule.ts";

export const FAULT_DEFAULTS = { delayMs: 100, copies: 1, code: 1011, reason: "connect_internal_error", status: 503 };
const MAX_COPIES = 100;
const MAX_SEED = 0xffff_ffff;
const MAX_NAME = 1_024;
/** Of a close frame, with its code. */
const MAX_REASON_BYTES = 123;

const COMMON = ["what", "where", "probability", "count", "after", "fromMs", "forMs", "everyMs", "seed"];

/**
 * `newSeed` gives the seed where none is given.
 * @throws HoldfastError `FAULT_INVALID`
 */
export function readRule(value: unknown, newSeed: () => number): FaultRule {
  if (!isRecord(value)) throw invalid('A fault must be a JSON object, such as { "what": "drop" }.');
  const what = readKind(value.what);
  const row = FAULT_KINDS[what];
  checkFields(value, [...COMMON, ...row.settings], (field) => `The fault "${what}" takes no \`${field}\``);
  const isNow = edgeOf(what) === "now";
  if (value.everyMs != null && !isNow) {
    throw invalid('`everyMs` is for what happens at once: "expire-leases", "kill-connection", "skip-time".');
  }
  return {
    ...readAction(what, value),
    where: readPlace(what, value.where),
    probability: readNumber(value, "probability", 0, 1) ?? 1,
    count: readInteger(value, "count", 1, 1_000_000),
    after: readInteger(value, "after", 0, 1_000_000) ?? 0,
    fromMs: readNumber(value, "fromMs", 0, MAX_DURATION_MS) ?? 0,
    forMs: readNumber(value, "forMs", 1, MAX_DURATION_MS),
    everyMs: readNumber(value, "everyMs", 10, MAX_DURATION_MS),
    seed: readInteger(value, "seed", 0, MAX_SEED) ?? newSeed(),
  };
}

function readKind(what: unknown): FaultKind {
  const found = FAULT_NAMES.find((name) => name === what);
  if (found) return found;
  const all = `There are ${FAULT_NAMES.map((name) => `"${name}"`).join(", ")}.`;
  if (typeof what !== "string") throw invalid(`\`what\` must say what is to happen. ${all}`);
  const near = nearestName(what, FAULT_NAMES);
  const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
  throw invalid(`There is no fault ${JSON.stringify(what.slice(0, 80))}.${hint} ${all}`);
}

function readAction(what: FaultKind, value: Fields): FaultAction {
  const delayMs = (): number | null => readNumber(value, "delayMs", 0, MAX_DURATION_MS);
  const jitterMs = (): number => readNumber(value, "jitterMs", 0, MAX_DURATION_MS) ?? 0;
  switch (what) {
    case "drop":
    case "cut":
    case "withhold-acks":
    case "refuse-database":
    case "lose-answer":
    case "expire-leases":
    case "kill-connection":
      return { what };
    case "delay":
    case "slow-database":
      return { what, delayMs: delayMs() ?? FAULT_DEFAULTS.delayMs, jitterMs: jitterMs() };
    case "duplicate":
      return { what, copies: readInteger(value, "copies", 1, MAX_COPIES) ?? FAULT_DEFAULTS.copies };
    case "reorder":
      return { what, delayMs: delayMs() ?? FAULT_DEFAULTS.delayMs };
    case "half-open":
      return { what, delayMs: delayMs() };
    case "close":
      return { what, code: readCode(value.code), reason: readReason(value.reason) };
    case "kill":
      return { what, moment: readOneOf(value, "moment", MOMENTS) ?? "before-commit" };
    case "refuse-start":
    case "refuse-flush":
      return { what, status: readOneOf(value, "status", REFUSAL_STATUSES) ?? 503 };
    case "skip-time": {
      const skipMs = readNumber(value, "skipMs", 0, MAX_DURATION_MS);
      if (skipMs === null)
        throw invalid('`skipMs` says how far time is moved: { "what": "skip-time", "skipMs": 60000 }.');
      return { what, skipMs };
    }
    default:
      return unreachable(what);
  }
}

function readPlace(what: FaultKind, value: unknown): FaultPlace {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw invalid('`where` must be an object, such as { "kind": "WORKER_REPLY_ACK" }.');
  const allowed: readonly FaultWhere[] = FAULT_KINDS[what].where;
  checkFields(value, allowed, (field) => `The fault "${what}" cannot be limited by \`where.${field}\``);
  const { kind, operation } = value;
  const direction = readOneOf(value, "direction", DIRECTIONS);
  const texts = (["connection", "function", "step", "run"] as const).flatMap((field) => {
    const text = readText(value, field);
    return text === null ? [] : [[field, text] as const];
  });
  return {
    ...(kind === undefined || kind === null ? {} : { kind: readList(kind, "where.kind", WIRE_KINDS) }),
    ...(direction === null ? {} : { direction }),
    ...Object.fromEntries(texts),
    ...(operation === undefined || operation === null
      ? {}
      : { operation: readList(operation, "where.operation", STORE_OPERATIONS) }),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function checkFields(value: Fields, known: readonly string[], refused: (field: string) => string): void {
  const other = Object.keys(value).find((field) => !known.includes(field) && value[field] !== undefined);
  if (other === undefined) return;
  const near = nearestName(other, [...known]);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  const list = known.length === 0 ? "It takes none." : `It takes ${known.map((one) => `\`${one}\``).join(", ")}.`;
  throw invalid(`${refused(other.slice(0, 80))}.${hint} ${list}`);
}

function readNumber(value: Fields, field: FaultSetting | string, min: number, max: number): number | null {
  const given = value[field];
  if (given === undefined || given === null) return null;
  if (typeof given === "number" && given >= min && given <= max) return given;
  throw invalid(`\`${field}\` must be a number from ${min} to ${max}, not ${shown(given)}.`);
}

function readInteger(value: Fields, field: string, min: number, max: number): number | null {
  const given = readNumber(value, field, min, max);
  if (given === null || Number.isInteger(given)) return given;
  throw invalid(`\`${field}\` must be a whole number from ${min} to ${max}, not ${shown(given)}.`);
}

function readOneOf<One extends string | number>(value: Fields, field: string, all: readonly One[]): One | null {
  const given = value[field];
  if (given === undefined || given === null) return null;
  const found = all.find((one) => one === given);
  if (found !== undefined) return found;
  throw invalid(`\`${field}\` must be one of ${all.join(", ")}, not ${shown(given)}.`);
}

/** One, or an array of some. */
function readList<One extends string>(given: unknown, field: string, all: readonly One[]): readonly One[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw invalid(`\`${field}\` is empty: leave it out to mean all.`);
  return list.map((one) => {
    const found = all.find((name) => name === one);
    if (found !== undefined) return found;
    const near = typeof one === "string" ? nearestName(one, [...all]) : undefined;
    const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
    throw invalid(`\`${field}\` has no ${shown(one)}.${hint} There are ${all.join(", ")}.`);
  });
}

function readText(value: Fields, field: string): string | null {
  const given = value[field];
  if (given === undefined || given === null) return null;
  if (typeof given === "string" && given !== "" && given.length <= MAX_NAME) return given;
  throw invalid(`\`where.${field}\` must be text of 1 to ${MAX_NAME} characters, not ${shown(given)}.`);
}

function readCode(given: unknown): number {
  if (given === undefined || given === null) return FAULT_DEFAULTS.code;
  const isCode = typeof given === "number" && Number.isInteger(given);
  const isStandard = isCode && given >= 1000 && given <= 1014 && ![1004, 1005, 1006].includes(given);
  if (isStandard || (isCode && given >= 3000 && given <= 4999)) return given;
  throw invalid(
    `\`code\` must be a close code that may be sent: 1000 to 1003, 1007 to 1014, or 3000 to 4999; not ${shown(given)}.`,
  );
}

function readReason(given: unknown): string {
  if (given === undefined || given === null) return FAULT_DEFAULTS.reason;
  if (typeof given === "string" && new TextEncoder().encode(given).length <= MAX_REASON_BYTES) return given;
  throw invalid(`\`reason\` must be text of at most ${MAX_REASON_BYTES} bytes, as a close frame holds.`);
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80);

export const invalid = (message: string): HoldfastError => new HoldfastError("FAULT_INVALID", message);
