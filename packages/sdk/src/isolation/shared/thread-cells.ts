/**
 * The memory that main, the connection thread and all pool threads share: whose turn each pool thread has. A thread is
 * claimed by compare-and-exchange, so that the connection thread gets one while main is blocked. See
 * docs/decisions/0067.
 */

/** Who gives a thread its turn: main the bodies of steps, the connection thread whole handlers. */
export type TurnOwner = "main" | "connection";

/** `vacant`: no thread, or one that is starting. `doomed`: main ends it; it gets no turn any more. */
export type CellState = "vacant" | "free" | TurnOwner | "doomed";

/** What a thread does in its turn: nothing yet, evaluating a module, asking main whether it may begin, running the code. */
export type TurnPhase = "waiting" | "loading" | "asking" | "running";

const STATES: readonly CellState[] = ["vacant", "free", "main", "connection", "doomed"];
const PHASES: readonly TurnPhase[] = ["waiting", "loading", "asking", "running"];

/** What main says of the pool for others to read; whether a thread has a turn is in its own cells. */
export interface PoolFigures {
  /** That live, or start. */
  readonly threads: number;
  /** Turns that main has to give. */
  readonly queued: number;
  /** How long the one that has waited or run for the longest is here; null = there is none. */
  readonly oldestMs: number | null;
  readonly overruns: number;
  readonly crashes: number;
  readonly recycled: number;
  /** Threads that do not end. */
  readonly abandoned: number;
}

// Cells of the pool, then those of each thread.
const HEARD = 2;
const FIGURES = 3;
const COUNTS = ["threads", "queued", "overruns", "crashes", "recycled", "abandoned"] as const;
const HAS_OLDEST = FIGURES + COUNTS.length;
const OLDEST_SINCE = HAS_OLDEST + 1;
const POOL_CELLS = OLDEST_SINCE + 1;
const THREAD_CELLS = 7;
const STATUS = 0;
const PHASE = 1;
const SINCE = 2;
const LOGS_TAKEN = 3;
const MEMORY = 4;
const LOADING = 5;
const KEPT_BUSY = 6;

/** A status is turn * 8 + state: what is compared names the turn, too. Turns begin again after 2^27. */
const STATE_BITS = 3;
const STATE_MASK = (1 << STATE_BITS) - 1;
const TURN_MASK = (1 << 27) - 1;

/**
 * CELLS-1. One owner a turn: of all that claim a free thread at once, one gets it.
 * CELLS-2. A turn ends once: either its thread releases it, or main dooms the thread in this very turn.
 * CELLS-3. A thread that is not free cannot be claimed, and a doomed one never becomes free.
 * CELLS-4. An owner that says it waits before it tries to claim is notified of each thread that becomes free afterwards.
 */
export interface ThreadCells {
  readonly slots: number;
  /** Main: a thread with this memory limit (0 = the pool's) starts in the slot. */
  prepare(slot: number, memoryMb: number): void;
  /** Main: the thread of the slot is gone. */
  vacate(slot: number): void;
  /** Pool thread: it has started and waits for a turn. */
  ready(slot: number): void;
  /** Takes a free thread. The turn's number, or null: it was not free. */
  claim(slot: number, owner: TurnOwner): number | null;
  /** Takes any free thread with this memory limit. */
  claimAny(owner: TurnOwner, memoryMb: number): { readonly slot: number; readonly turn: number } | null;
  /** Pool thread: the turn is over. False: main has doomed the thread meanwhile, and has settled its turn. */
  release(slot: number, turn: number): boolean;
  /** Main: this thread gets no turn any more. With a turn: if it still has that; else: if it is free. */
  doom(slot: number, turn: number | null): boolean;
  /** Main: it is to be ended in whatever state it is. */
  condemn(slot: number): void;
  /** Pool thread: what it does now, as of this time. */
  setPhase(slot: number, phase: TurnPhase, monotonicMs: number): void;
  /** Pool thread: it evaluates the module at this place of the list that main gave it, or null: none. */
  setLoading(slot: number, index: number | null): void;
  /** Of any thread, or of this one; null = none does. */
  readLoading(slot?: number): number | null;
  /** Main: whether the thread, which is free, has computed all the same. It is not to begin with a turn then. */
  setKeptBusy(slot: number, isBusy: boolean): void;
  isKeptBusy(slot: number): boolean;
  /** Whether the thread has this turn, of either owner: it is not over, and not ended by main. */
  hasTurn(slot: number, turn: number): boolean;
  read(slot: number): { readonly state: CellState; readonly turn: number; readonly memoryMb: number };
  readPhase(slot: number, monotonicMs: number): { readonly phase: TurnPhase; readonly forMs: number };
  /** How many threads have a turn. */
  countBusy(): number;
  /** Main: `oldestSinceMs` is monotonic. */
  setFigures(counts: Omit<PoolFigures, "oldestMs">, oldestSinceMs: number | null): void;
  /** While main is blocked: as they were before. */
  readFigures(monotonicMs: number): PoolFigures;
  setWaiting(owner: TurnOwner, isWaiting: boolean): void;
  isWaiting(owner: TurnOwner): boolean;
  /** Main: something in it subscribes to what handlers in the threads do. */
  setHeard(isHeard: boolean): void;
  isHeard(): boolean;
  /** Main: took this many lines that the thread printed. */
  addLogsTaken(slot: number, count: number): void;
  readLogsTaken(slot: number): number;
}

export function cellsBytes(slots: number): number {
  return (POOL_CELLS + slots * THREAD_CELLS) * Int32Array.BYTES_PER_ELEMENT;
}

export function threadCells(buffer: SharedArrayBuffer): ThreadCells {
  const cells = new Int32Array(buffer);
  const slots = Math.floor((cells.length - POOL_CELLS) / THREAD_CELLS);
  const at = (slot: number, cell: number): number => POOL_CELLS + slot * THREAD_CELLS + cell;
  const statusOf = (turn: number, state: CellState): number => (turn << STATE_BITS) | STATES.indexOf(state);
  const load = (slot: number, cell = STATUS): number => Atomics.load(cells, at(slot, cell));
  const store = (slot: number, cell: number, value: number): void => void Atomics.store(cells, at(slot, cell), value);
  const turnIn = (status: number): number => status >> STATE_BITS;
  const stateIn = (status: number): CellState => STATES[status & STATE_MASK] ?? "doomed";
  const hasTurn = (status: number, turn: number): boolean => {
    const state = stateIn(status);
    return (state === "main" || state === "connection") && turnIn(status) === turn;
  };
  const waitingCell = (owner: TurnOwner): number => (owner === "main" ? 0 : 1);
  /** True when the status was still what it was thought to be. */
  const change = (slot: number, from: number, to: number): boolean =>
    Atomics.compareExchange(cells, at(slot, STATUS), from, to) === from;
  const force = (slot: number, state: CellState): void => store(slot, STATUS, statusOf(turnIn(load(slot)), state));

  const claim = (slot: number, owner: TurnOwner): number | null => {
    const status = load(slot);
    if (stateIn(status) !== "free") return null;
    const turn = (turnIn(status) + 1) & TURN_MASK;
    return change(slot, status, statusOf(turn, owner)) ? turn : null;
  };
  return {
    slots,
    prepare: (slot, memoryMb) => {
      store(slot, MEMORY, memoryMb);
      store(slot, LOGS_TAKEN, 0);
      store(slot, PHASE, 0);
      store(slot, LOADING, 0);
      store(slot, KEPT_BUSY, 0);
      force(slot, "vacant");
    },
    vacate: (slot) => force(slot, "vacant"),
    ready: (slot) => {
      const turn = turnIn(load(slot));
      change(slot, statusOf(turn, "vacant"), statusOf(turn, "free"));
    },
    claim,
    claimAny: (owner, memoryMb) => {
      for (let slot = 0; slot < slots; slot += 1) {
        const turn = load(slot, MEMORY) === memoryMb ? claim(slot, owner) : null;
        if (turn !== null) return { slot, turn };
      }
      return null;
    },
    release: (slot, turn) => {
      const status = load(slot);
      return hasTurn(status, turn) && change(slot, status, statusOf(turn, "free"));
    },
    doom: (slot, turn) => {
      const status = load(slot);
      const fits = turn === null ? stateIn(status) === "free" : hasTurn(status, turn);
      return fits && change(slot, status, statusOf(turnIn(status), "doomed"));
    },
    condemn: (slot) => force(slot, "doomed"),
    setPhase: (slot, phase, monotonicMs) => {
      store(slot, SINCE, Math.floor(monotonicMs) | 0);
      store(slot, PHASE, PHASES.indexOf(phase));
    },
    ...notesIn(cells, slots),
    hasTurn: (slot, turn) => hasTurn(load(slot), turn),
    read: (slot) => {
      const status = load(slot);
      return { state: stateIn(status), turn: turnIn(status), memoryMb: load(slot, MEMORY) };
    },
    // Times are kept to 32 bits: the difference of two is right within 24 days.
    readPhase: (slot, monotonicMs) => ({
      phase: PHASES[load(slot, PHASE)] ?? "waiting",
      forMs: Math.max(0, (Math.floor(monotonicMs) - load(slot, SINCE)) | 0),
    }),
    countBusy: () => {
      const states = Array.from({ length: slots }, (_, slot) => stateIn(load(slot)));
      return states.filter((state) => state === "main" || state === "connection").length;
    },
    ...figuresIn(cells),
    setWaiting: (owner, isWaiting) => void Atomics.store(cells, waitingCell(owner), isWaiting ? 1 : 0),
    isWaiting: (owner) => Atomics.load(cells, waitingCell(owner)) !== 0,
  };
}

type Notes = "setLoading" | "readLoading" | "setKeptBusy" | "isKeptBusy" | "setHeard" | "isHeard" | "addLogsTaken";
type NotesOnThreads = Pick<ThreadCells, Notes | "readLogsTaken">;

function notesIn(cells: Int32Array, slots: number): NotesOnThreads {
  const at = (slot: number, cell: number): number => POOL_CELLS + slot * THREAD_CELLS + cell;
  return {
    setLoading: (slot, index) => void Atomics.store(cells, at(slot, LOADING), index === null ? 0 : index + 1),
    readLoading: (given) => {
      const asked = given === undefined ? Array.from({ length: slots }, (_, slot) => slot) : [given];
      const place = asked.map((slot) => Atomics.load(cells, at(slot, LOADING))).find((one) => one > 0);
      return place === undefined ? null : place - 1;
    },
    setKeptBusy: (slot, isBusy) => void Atomics.store(cells, at(slot, KEPT_BUSY), isBusy ? 1 : 0),
    isKeptBusy: (slot) => Atomics.load(cells, at(slot, KEPT_BUSY)) !== 0,
    setHeard: (isHeard) => void Atomics.store(cells, HEARD, isHeard ? 1 : 0),
    isHeard: () => Atomics.load(cells, HEARD) !== 0,
    addLogsTaken: (slot, count) => void Atomics.add(cells, at(slot, LOGS_TAKEN), count),
    readLogsTaken: (slot) => Atomics.load(cells, at(slot, LOGS_TAKEN)),
  };
}

function figuresIn(cells: Int32Array): Pick<ThreadCells, "setFigures" | "readFigures"> {
  const count = (name: (typeof COUNTS)[number]): number => Atomics.load(cells, FIGURES + COUNTS.indexOf(name));
  return {
    setFigures: (counts, oldestSinceMs) => {
      for (const [index, name] of COUNTS.entries()) Atomics.store(cells, FIGURES + index, counts[name]);
      if (oldestSinceMs !== null) Atomics.store(cells, OLDEST_SINCE, Math.floor(oldestSinceMs) | 0);
      Atomics.store(cells, HAS_OLDEST, oldestSinceMs === null ? 0 : 1);
    },
    readFigures: (monotonicMs) => {
      const sinceMs = (Math.floor(monotonicMs) - Atomics.load(cells, OLDEST_SINCE)) | 0;
      return {
        threads: count("threads"),
        queued: count("queued"),
        oldestMs: Atomics.load(cells, HAS_OLDEST) === 0 ? null : Math.max(0, sinceMs),
        overruns: count("overruns"),
        crashes: count("crashes"),
        recycled: count("recycled"),
        abandoned: count("abandoned"),
      };
    },
  };
}
