/**
 * The memory that all connections of a process share: which of their threads inspects the main thread, and what it has
 * found. Each of them watches main and sees the same stall; one alone is to stop its code and to write about it.
 */
const MINUTE_MS = 60_000;

/** Whose code blocks main, as the thread with the role has found it. */
export type Finding =
  /** Nothing is known yet. */
  | "none"
  /** Main does not respond to its debugger. */
  | "no-answer"
  | "no-request"
  | "request";

/** The role as one thread has it, or has not. */
export interface InspectorRole {
  /** Gets it unless another thread has it; true = this one has it now. */
  take(): boolean;
  leave(): void;
  /** `requestId`: whose code it is. */
  setFinding(finding: Exclude<Finding, "request"> | { readonly requestId: string }): void;
  readFinding(): Finding;
  /** Whether it was found to be the code of this request. */
  isFound(requestId: string): boolean;
  /**
   * Whether one more report may be written now, the others of this process of the last minute counted. Only for the
   * thread with the role.
   */
  mayWrite(what: keyof typeof PER_MINUTE, monotonicMs: number): boolean;
  /** Reports of `blocked` that were left out since this was last asked. */
  takeLeftOut(): number;
  /** Whether it is still to be written why no report of this process has a stack: true once. */
  takeNoStack(): boolean;
}

/** Texts on stderr, and lines about a machine without processor time. */
const PER_MINUTE = { blocked: 10, "no-cpu": 1 } as const;

const ROLE_CELL = 0;
const FINDING_CELL = 1;
const LEFT_OUT_CELL = 2;
/** Each is a count, and the times of the last ones. */
const WRITTEN_CELL = { blocked: 3, "no-cpu": 4 + PER_MINUTE.blocked } as const;
const NO_STACK_CELL = WRITTEN_CELL["no-cpu"] + 1 + PER_MINUTE["no-cpu"];
export const INSPECTOR_ROLE_BYTES = 4 * (NO_STACK_CELL + 1);

const FINDINGS = ["none", "no-answer", "no-request"] as const;

/** `thread`: a number from 1 that no other thread of the process has or had. */
export function inspectorRole(memory: SharedArrayBuffer, thread: number): InspectorRole {
  const cells = new Int32Array(memory);
  const load = (cell: number): number => Atomics.load(cells, cell);
  const store = (cell: number, value: number): void => void Atomics.store(cells, cell, value);
  return {
    take: () => {
      const before = Atomics.compareExchange(cells, ROLE_CELL, 0, thread);
      return before === 0 || before === thread;
    },
    leave: () => {
      if (load(ROLE_CELL) !== thread) return;
      // The next one is to find nothing of an earlier stall there.
      store(FINDING_CELL, 0);
      store(ROLE_CELL, 0);
    },
    setFinding: (finding) =>
      store(FINDING_CELL, typeof finding === "string" ? FINDINGS.indexOf(finding) : digestOf(finding.requestId)),
    readFinding: () => FINDINGS[load(FINDING_CELL)] ?? "request",
    isFound: (requestId) => load(FINDING_CELL) === digestOf(requestId),
    mayWrite: (what, monotonicMs) => {
      const [first, limit] = [WRITTEN_CELL[what], PER_MINUTE[what]];
      const count = load(first);
      const cell = first + 1 + (count % limit);
      // Times are kept to 32 bits, as in `shared-counters.ts`.
      const isAllowed = count < limit || ((Math.floor(monotonicMs) - load(cell)) | 0) >= MINUTE_MS;
      if (isAllowed) {
        store(cell, Math.floor(monotonicMs));
        store(first, count + 1);
      } else if (what === "blocked") {
        Atomics.add(cells, LEFT_OUT_CELL, 1);
      }
      return isAllowed;
    },
    takeLeftOut: () => Atomics.exchange(cells, LEFT_OUT_CELL, 0),
    takeNoStack: () => Atomics.exchange(cells, NO_STACK_CELL, 1) === 0,
  };
}

/** A number beside those of `FINDINGS`; two requests that share it cost one inspection more. */
function digestOf(text: string): number {
  let digest = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) digest = Math.imul(digest ^ text.charCodeAt(at), 0x01000193);
  return digest >= 0 && digest < FINDINGS.length ? digest + FINDINGS.length : digest;
}
