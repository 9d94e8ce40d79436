/** The JSON of facts, as rows of the log have it: what says the same in most of them is a sign (`compact-text.ts`). */
import type { LogKind } from "@holdfast/store";
import { compactText, isPlainName, type Piece, wholeText } from "./compact-text.ts";

/** What texts of a run's log have in common with its head. */
export interface LogContext {
  readonly runId: string;
  /** Left out: of rows that do not make the run. */
  readonly event?: { readonly id: string; readonly name: string };
}

/** Of the columns of a head. */
export const contextOf = (head: {
  readonly id: string;
  readonly event_id: string;
  readonly event_name: string;
}): LogContext => ({ runId: head.id, event: { id: head.event_id, name: head.event_name } });

/** Never changed, only added to: rows of the log hold the signs. Migration 026 has the same. */
const TEXTS = {
  "\u0001": '{"run":{"maxAttempts":',
  "\u0003": '},"event":{"id":"',
  "\u0004": '","name":"',
  "\u0005": '","data":',
  "\u0006": ',"ts":',
  "\u0007": ',"user":{}}',
  "\u0008": '{"job":"',
  "\u000c": '","kind":"pass"',
  "\u000e": '","kind":"timer","delayMs":',
  "\u000f": ',"plan":{"requestVersion":',
  "\u0010": '{"plan":{"requestVersion":',
  "\u0011": ',"forced":false,"pending":[',
  "\u0012": ',"forced":true,"pending":[',
  "\u0013": '{"step":{"op":"StepRun","name":"',
  "\u0014": '{"step":{"op":"',
  "\u0015": '","startedMs":',
  "\u0016": ',"durationMs":',
  "\u0017": ',"ordinal":',
  "\u0018": '},"data":',
  "\u0019": '{"output":',
  "\u001a": '{"op":"Sleep","name":"',
  "\u001b": ',"delayMs":',
} as const;
type Sign = keyof typeof TEXTS;
const TEXT_OF: ReadonlyMap<string, string> = new Map(Object.entries(TEXTS));
/** Of the run's first event, up to its data. */
const EVENT = "\u0002";
/** Ids that are made together differ in their last signs. */
const ID = "\u000b";
const ID_LENGTH = 22;

const piecesOf = (...signs: readonly Sign[]): readonly Piece[] => signs.map((sign) => ({ sign, text: TEXTS[sign] }));

const CREATED = piecesOf("\u0001");
const CREATED_EVENT = piecesOf("\u0003", "\u0004", "\u0005");
const CREATED_END = piecesOf("\u0006", "\u0007");
const JOB = piecesOf("\u0008");
const JOB_END = piecesOf("\u000c", "\u000e", "\u000f", "\u0011", "\u0012");
const SETTLED = ["\u0015", "\u0016", "\u0017", "\u0018"] as const;
const STEP_RUN = piecesOf("\u0013", ...SETTLED);
const STEP = piecesOf("\u0014", "\u0004", ...SETTLED);
const WAITING = piecesOf("\u001a", "\u0017", "\u001b");
const REPORTED = piecesOf("\u0010", "\u0011", "\u0012");
const COMPLETED = piecesOf("\u0019");

function piecesFor(kind: LogKind, json: string, context: LogContext | undefined): readonly Piece[] {
  switch (kind) {
    case "RUN_CREATED":
      return [...CREATED, ...(eventPiece(context) ?? CREATED_EVENT), ...CREATED_END];
    case "DISPATCHED":
      return context ? [...JOB, { sign: ID, text: context.runId.slice(0, ID_LENGTH) }, ...JOB_END] : JOB;
    case "STEP_COMPLETED":
      return json.startsWith(TEXTS["\u0013"]) ? STEP_RUN : STEP;
    case "STEP_WAITING":
      return WAITING;
    case "PASS_REPORTED":
      return REPORTED;
    case "RUN_COMPLETED":
      return COMPLETED;
    default:
      return [];
  }
}

function eventPiece({ event }: Partial<LogContext> = {}): readonly Piece[] | null {
  return event && isPlainName(event.id) && isPlainName(event.name) ? [{ sign: EVENT, text: eventText(event) }] : null;
}

const eventText = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  `},"event":{"id":"${id}","name":"${name}","data":`;

/** @throws TypeError where it is no JSON and would be read as another text */
export const compactFact = (kind: LogKind, json: string, context?: LogContext): string =>
  compactText(json, piecesFor(kind, json, context));

/** `context`: as it was written with; of rows that do not make the run its id is enough. */
export function wholeFact(text: string, context?: LogContext): string {
  return wholeText(text, (sign) => {
    if (sign === ID) return context?.runId.slice(0, ID_LENGTH);
    if (sign === EVENT) return context?.event && eventText(context.event);
    return TEXT_OF.get(sign);
  });
}
