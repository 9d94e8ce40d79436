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
  readonly run: (effect: Effect, send: (event: Event) => void) => void;
  readonly nowMs: () => number;
  /** How a state, an event and an effect are called in the trace. Default: their `type`, `do` or `phase`. */
  readonly label?: (value: State | Event | Effect) => string;
  /** How many steps are kept. Default 100; with 0 none is noted at all, which is for machines that are made by the thousand. */
  readonly traceSize?: number;
  /** Called when an effect throws; without it the error is thrown to the sender of the event. */
  readonly onError?: (error: unknown, effect: Effect) => void;
}

export function createDriver<State, Event, Effect>(options: DriverOptions<State, Event, Effect>): Driver<State, Event> {
  const { step, run, nowMs, traceSize = 100, label = defaultLabel, onError } = options;
  const waiting: Event[] = [];
  const ring: TraceEntry[] = [];
  let state = options.initial;
  let stepping = false;

  const note = (event: Event, from: State, effects: readonly Effect[]): void => {
    ring.push({
      atMs: nowMs(),
      event: label(event),
      from: label(from),
      to: label(state),
      effects: effects.map(label),
    });
    if (ring.length > traceSize) ring.shift();
  };

  const take = (event: Event): void => {
    const from = state;
    const [next, effects] = step(from, event);
    state = next;
    if (traceSize > 0) note(event, from, effects);
    for (const effect of effects) {
      try {
        run(effect, send);
      } catch (error) {
        if (!onError) throw error;
        onError(error, effect);
      }
    }
  };

  const send = (event: Event): void => {
    waiting.push(event);
    if (stepping) return;
    stepping = true;
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) take(next);
    } finally {
      stepping = false;
    }
  };

  return {
    get state() {
      return state;
    },
    send,
    trace: () => [...ring],
  };
}

function defaultLabel(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const record = value as Record<string, unknown>;
  return String(record.type ?? record.do ?? record.phase ?? "?");
}
