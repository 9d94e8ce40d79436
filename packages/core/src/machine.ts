/** What a machine answers an event with: its next state, and the effects that the shell is to carry out, in order. */
export type Next<State, Effect> = readonly [State, readonly Effect[]];

/**
 * The one shape of every state machine: a pure function from a state and an event to what is next. Event and effect are
 * discriminated unions; the function reads no clock and no random source.
 */
export type Step<State, Event, Effect> = (state: State, event: Event) => Next<State, Effect>;

/** One step of a machine, kept for the debug snapshot. */
export interface TraceEntry {
  readonly atMs: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly effects: readonly string[];
}

export interface Driver<State, Event> {
  readonly state: State;
  /** Queues the event. Steps are never nested: an event that an effect sends is taken after all effects of its step. */
  send(event: Event): void;
  /** The last steps, oldest first. */
  trace(): readonly TraceEntry[];
}

export interface DriverOptions<State, Event, Effect> {
  readonly initial: State;
  readonly step: Step<State, Event, Effect>;
  readonly run: (effect: Effect) => void;
  readonly nowMs: () => number;
  /** How a state, an event and an effect are called in the trace. Default: their `type`, `do` or `phase`. */
  readonly label?: (value: State | Event | Effect) => string;
  /** How many steps are kept. Default 100; with 0 none is noted at all, which is for machines that are made by the thousand. */
  readonly traceSize?: number;
  /** Called when an effect throws; without it the error is thrown to the sender of the event. */
  readonly onError?: (error: unknown, effect: Effect) => void;
}

export function createDriver<State, Event, Effect>(options: DriverOptions<State, Event, Effect>): Driver<State, Event> {
  return new MachineDriver(options);
}

/** A class, not a literal with a getter: V8 makes each such literal a dictionary of a kilobyte, and each pass has one. */
class MachineDriver<State, Event, Effect> implements Driver<State, Event> {
  readonly #options: DriverOptions<State, Event, Effect>;
  readonly #waiting: Event[] = [];
  readonly #trace: TraceEntry[] = [];
  #state: State;
  #isStepping = false;

  constructor(options: DriverOptions<State, Event, Effect>) {
    this.#options = options;
    this.#state = options.initial;
  }

  get state(): State {
    return this.#state;
  }

  send(event: Event): void {
    const waiting = this.#waiting;
    // Nearly always nothing waits: each first push to an empty list makes room for seventeen.
    const isNext = !this.#isStepping && waiting.length === 0;
    if (!isNext) waiting.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      if (isNext) this.#take(event);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) this.#take(next);
    } finally {
      this.#isStepping = false;
    }
  }

  trace(): readonly TraceEntry[] {
    return [...this.#trace];
  }

  #take(event: Event): void {
    const { step, run, traceSize = 100, onError } = this.#options;
    const from = this.#state;
    const [next, effects] = step(from, event);
    this.#state = next;
    if (traceSize > 0) this.#note(event, from, effects, traceSize);
    for (const effect of effects) {
      try {
        run(effect);
      } catch (error) {
        if (!onError) throw error;
        onError(error, effect);
      }
    }
  }

  #note(event: Event, from: State, effects: readonly Effect[], traceSize: number): void {
    const { nowMs, label = defaultLabel } = this.#options;
    this.#trace.push({
      atMs: nowMs(),
      event: label(event),
      from: label(from),
      to: label(this.#state),
      effects: effects.map(label),
    });
    if (this.#trace.length > traceSize) this.#trace.shift();
  }
}

function defaultLabel(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const record = value as Record<string, unknown>;
  return String(record.type ?? record.do ?? record.phase ?? "?");
}
