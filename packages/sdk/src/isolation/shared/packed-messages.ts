/**
 * The two messages of every isolated body, as flat lists: to clone an object with parts takes three times as long, and
 * that is most of what such a body costs. All others are posted as they are.
 */
import type { AnswerLoss, IsolationMessage, PoolCommand, PoolReport } from "./isolation-messages.ts";

type RunBody = Extract<PoolCommand, { type: "RUN_BODY" }>;
type Done = Extract<PoolReport, { type: "DONE" }>;

/** What is posted for a message. */
export function packed(message: IsolationMessage): unknown {
  switch (message.type) {
    case "RUN_BODY":
      return packRunBody(message);
    case "DONE":
      return packDone(message);
    default:
      return message;
  }
}

/** The message that was packed; anything else as it is, to be judged by its reader. */
export function unpacked(posted: unknown): unknown {
  if (!isPacked(posted)) return posted;
  switch (posted[0]) {
    case "RUN_BODY":
      return runBodyOf(posted);
    case "DONE":
      return doneOf(posted);
    default:
      return { type: posted[0], version: posted[1], turn: posted[2] };
  }
}

const isPacked = (posted: unknown): posted is PackedRunBody | PackedDone => Array.isArray(posted);

type Step = NonNullable<RunBody["subject"]["step"]>;
type AsOf = NonNullable<RunBody["asOf"]>;

type PackedRunBody = readonly [
  type: RunBody["type"],
  version: number,
  turn: number,
  kind: RunBody["code"]["kind"],
  module: string,
  name: string,
  requestId: string,
  runId: string,
  functionSlug: string,
  trace: RunBody["subject"]["trace"],
  /** Undefined: it is the body of no step. */
  stepId: Step["id"] | undefined,
  stepHash: Step["hash"],
  stepAttempt: Step["attempt"],
  input: RunBody["input"],
  announces: boolean,
  asOfWallMs: AsOf["wallMs"] | null,
  asOfMonotonicMs: AsOf["monotonicMs"],
];

function packRunBody({ type, version, turn, code, subject, input, announces, asOf }: RunBody): PackedRunBody {
  const { requestId, runId, functionSlug, trace, step } = subject;
  return [
    type,
    version,
    turn,
    code.kind,
    code.module,
    code.name,
    requestId,
    runId,
    functionSlug,
    trace,
    step?.id,
    step?.hash ?? "",
    step?.attempt ?? 0,
    input,
    announces,
    asOf?.wallMs ?? null,
    asOf?.monotonicMs ?? 0,
  ];
}

// By index: to take a list apart by a pattern asks its iterator for each part.
function runBodyOf(list: PackedRunBody): RunBody {
  const asOfWallMs = list[15];
  return {
    type: list[0],
    version: list[1],
    turn: list[2],
    code: { kind: list[3], module: list[4], name: list[5] },
    subject: subjectOf(list),
    input: list[13],
    announces: list[14],
    asOf: asOfWallMs === null ? null : { wallMs: asOfWallMs, monotonicMs: list[16] },
  };
}

function subjectOf(list: PackedRunBody): RunBody["subject"] {
  const trace = list[9];
  const id = list[10];
  const subject = { requestId: list[6], runId: list[7], functionSlug: list[8], ...(trace ? { trace } : {}) };
  return id === undefined ? subject : { ...subject, step: { id, hash: list[11], attempt: list[12] } };
}

type PackedDone = readonly [
  type: Done["type"],
  version: number,
  turn: number,
  text: string,
  isUndefined: boolean,
  startedMs: number,
  durationMs: number,
  /** Nearly always there is none. */
  loss?: AnswerLoss,
];

function packDone({ type, version, turn, json, timing }: Done): PackedDone {
  const { text, isUndefined, loss } = json;
  const { startedMs, durationMs } = timing;
  return loss === undefined
    ? [type, version, turn, text, isUndefined, startedMs, durationMs]
    : [type, version, turn, text, isUndefined, startedMs, durationMs, loss];
}

function doneOf(list: PackedDone): Done {
  return {
    type: list[0],
    version: list[1],
    turn: list[2],
    json: list[7] ? { text: list[3], isUndefined: list[4], loss: list[7] } : { text: list[3], isUndefined: list[4] },
    timing: { startedMs: list[5], durationMs: list[6] },
  };
}
