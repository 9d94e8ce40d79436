/**
 * The catalogue of stable error codes: what went wrong and how to mend it. `docs/errors.md` is generated from here.
 * A code is never reused for something else.
 */
export const ERROR_CATALOGUE = {
  // Values and options
  DURATION_INVALID: {
    summary: "A duration could not be read, or lies outside its bounds.",
    cure: 'Give milliseconds as a number, or text with one unit such as "500ms", "5s", "2h" or "7d".',
  },
  OPTION_INVALID: {
    summary: "An option, or the environment variable that stands for it, has a wrong value.",
    cure: "The message names the option and where it came from; correct it there.",
  },
  OPTION_MISSING: {
    summary: "A required option was not given, nor the environment variable that stands for it.",
    cure: "Give the option that the message names, or set the variable.",
  },
  SIGNING_KEY_INVALID: {
    summary: "A signing key is too short, or has characters that are no hex digits.",
    cure: "Make one with `openssl rand -hex 32`, with or without a prefix such as `signkey-prod-`, and give it to the gateway and to the apps.",
  },
  RUNTIME_UNSUPPORTED: {
    summary: "The JavaScript runtime lacks something Holdfast needs.",
    cure: "The message names what is missing; Node 20.19, 22.3 or newer has all of it.",
  },
  // Functions and steps
  FUNCTION_INVALID: {
    summary: "A function was defined wrongly: its id, a trigger or an option.",
    cure: "The message names the function and the option; correct its definition.",
  },
  FUNCTION_DUPLICATE: {
    summary: "Two functions of one app have the same id.",
    cure: "Give each function its own id.",
  },
  FUNCTION_TAKEN: {
    summary: "Functions of two apps have the same full name: app id, dash, function id.",
    cure: "The message names both apps and functions; give one of the apps or functions another id.",
  },
  FUNCTION_UNKNOWN: {
    summary: "A request named a function that this app does not have.",
    cure: "Deploy the function, or remove it from the gateway; usually an old version of the app is still running.",
  },
  STEP_INVALID: {
    summary: "A step was called with a wrong id or wrong arguments.",
    cure: "Give the step a non-empty id of at most 256 characters and the arguments its documentation names.",
  },
  STEP_NESTED: {
    summary: "A step was called inside the body of another step.",
    cure: "Steps cannot be nested: end the first step and start the second one after it, or move the code into one step.",
  },
  STEP_RESULT_INVALID: {
    summary: "A step or function returned a value that JSON cannot carry.",
    cure: "Return plain data: no functions, symbols, BigInt or circular references.",
  },
  STEP_RESULT_TOO_LARGE: {
    summary: "A step or function returned more bytes than the limit.",
    cure: "Store large data elsewhere and return a reference to it.",
  },
  STEP_FAILED: {
    summary: "A step failed for good and the function did not catch it.",
    cure: "See the cause; the step has used up its attempts or threw a NonRetriableError.",
  },
  NON_DETERMINISM: {
    summary: "A replay met another step than the one recorded under that id.",
    cure: "Keep ids and kinds of steps while runs are in flight, or give changed steps new ids.",
  },
  INVOKE_FAILED: {
    summary: "A function that a step invoked failed.",
    cure: "See the error's name, message and cause: they are those of the invoked function's failure.",
  },
  EVENT_INVALID: {
    summary: "An event could not be sent: its name or data is wrong.",
    cure: 'Give every event a non-empty name that does not start with "inngest/" or "holdfast/", and plain JSON data that fits its schema.',
  },
  EVENT_SEND_FAILED: {
    summary: "The gateway did not take the events.",
    cure: "Check that the gateway runs at the base URL and accepts the event key; the message has its answer.",
  },
  SIGNAL_SEND_FAILED: {
    summary: "The gateway did not take the signal.",
    cure: "Check that the gateway runs at the base URL and accepts the signing key; the message has its answer.",
  },
  // Connection
  CONNECT_TIMEOUT: {
    summary: "No connection to a gateway was ready in time.",
    cure: "Check that the gateway runs and can be reached; the message has the last failure. `connectTimeout` sets the limit.",
  },
  CONNECT_REFUSED: {
    summary: "The gateway refused this app for a reason that trying again does not cure.",
    cure: "The message has the gateway's reason: mostly a wrong signing key or a rejected function configuration.",
  },
  CONNECT_CLOSED: {
    summary: "The connection was closed before or while it was used.",
    cure: "Call `connect()` again if the app is to go on.",
  },
  CONNECTION_FAILED: {
    summary: "The connection thread crashed again and again, and was given up.",
    cure: "The message has the last crash; report it when it comes from Holdfast, or raise the thread's memory limit.",
  },
  CONNECTION_LOST: {
    summary: "The connection to the gateway broke.",
    cure: "Nothing to do: it is made again, with all work kept. The log has the reason.",
  },
  HANDSHAKE_FAILED: {
    summary: "The gateway did not follow the handshake, or not in time.",
    cure: "Check that the address is that of a gateway and that no proxy in between changes WebSocket frames.",
  },
  START_FAILED: {
    summary: "The gateway's start endpoint did not answer as it should.",
    cure: "Check the base URL and the signing key; the message has the status and the body's beginning.",
  },
  FLUSH_FAILED: {
    summary: "A reply could not be handed over by HTTP.",
    cure: "Nothing to do while the app runs: it is tried again. The log has the answer.",
  },
  THREAD_CRASHED: {
    summary: "The connection thread ended unexpectedly.",
    cure: "Nothing to do: a new thread takes over all work in flight. The log has the cause.",
  },
  THREAD_HUNG: {
    summary: "The connection thread lived and did nothing.",
    cure: "Nothing to do: it is ended, and a new thread takes over all work in flight. The log has what it did last; please report it. `respawn.hangTimeout` sets when this is said.",
  },
  THREAD_PROTOCOL: {
    summary: "Main thread and connection thread do not speak the same version of their protocol.",
    cure: "Two versions of `holdfast` are mixed in one process; install one.",
  },
  DRAIN_TIMEOUT: {
    summary: "Some work was not finished when `drainTimeout` ended; it was handed back to the gateway.",
    cure: "Raise `drainTimeout`, or make steps shorter. The work goes on at another worker.",
  },
  OUTBOX_FULL: {
    summary: "Too many replies wait for the gateway's acknowledgement; no new work is taken until it has some.",
    cure: "Check the gateway; nothing is lost meanwhile.",
  },
  LEASE_LOST: {
    summary: "The gateway gave this work to somebody else; its result will not be used.",
    cure: "Stop the work when the AbortSignal fires. Mostly the process was paused for longer than the lease.",
  },
  PROCESS_PAUSED: {
    summary:
      "The connection thread did nothing for seconds: the process or its machine was suspended, or got no processor time.",
    cure: "Nothing to do: what it holds is confirmed by the gateway before any of it begins. When it comes often, give the process more processor time.",
  },
  MAIN_BLOCKED: {
    summary: "The app's main thread stood still: some code kept it busy, and nothing else in the process went on.",
    cure: "The log names the code: make it give way now and then, or move it to a worker thread. `stallThreshold` sets when this is said.",
  },
  RUN_CANCELLED: {
    summary: "The run was cancelled.",
    cure: "Stop the work when the AbortSignal fires.",
  },
  RUN_LOST: {
    summary: "A run's work was lost again and again without any progress; it was failed to end the loop.",
    cure: "Its code probably ends or wedges the process: look at the app's log around the dispatches that the run's log lists.",
  },
  REQUEST_INVALID: {
    summary: "A request from the gateway could not be understood.",
    cure: "Gateway and SDK disagree on the protocol; update the older one.",
  },
  AT_CAPACITY: {
    summary: "This worker already runs as many requests as `maxWorkerConcurrency` allows.",
    cure: "Nothing to do: the gateway gives the work to another worker or tries again.",
  },
  // Wire
  FRAME_INVALID: {
    summary: "A frame or body is not what the protocol says.",
    cure: "Something between the peers changes bytes, or one peer is not a Connect peer.",
  },
  FRAME_TOO_LARGE: {
    summary: "A frame or body is larger than the limit.",
    cure: "Return less data from the step; store large data elsewhere and return a reference.",
  },
  // Gateway
  GATEWAY_USAGE: {
    summary: "The gateway was started with a wrong flag or value.",
    cure: "The message names it; `holdfast-gateway --help` lists all flags.",
  },
  PORT_BUSY: {
    summary: "The port is used by another program.",
    cure: "Stop that program or choose another with `--port` (0 = any free one).",
  },
  HOST_NOT_LOOPBACK: {
    summary: "The gateway was asked to listen beyond this machine without keys.",
    cure: "Set a signing key and an event key, or listen on 127.0.0.1.",
  },
  DATABASE_UNREACHABLE: {
    summary: "Postgres could not be reached.",
    cure: "Check the database URL and that the server runs; the message has the driver's reason.",
  },
  DATABASE_TOO_OLD: {
    summary: "The Postgres server is older than the gateway supports.",
    cure: "Use Postgres 14 or newer, or leave out the database URL to use the embedded one.",
  },
  DATABASE_SCHEMA_NEWER: {
    summary: "The database was migrated by a newer gateway.",
    cure: "Use that version of the gateway or a newer one.",
  },
  DATA_DIR_UNUSABLE: {
    summary: "The data directory cannot be used: corrupt, of another Postgres version, not writable or in use.",
    cure: "The message says which; move the directory away, or choose another with `--data-dir`.",
  },
  POSTGRES_START_FAILED: {
    summary: "The embedded Postgres did not start.",
    cure: "The message has its last log lines; use a server of your own with `--database-url` meanwhile.",
  },
  POSTGRES_LOST: {
    summary: "The embedded Postgres ended again and again, and the gateway has ended with it.",
    cure: "The message has the last reason, and `postgres.log` in the data directory all of them. Nothing that was stored is lost.",
  },
  BODY_INVALID: {
    summary: "The body of an HTTP request is not what the endpoint takes.",
    cure: "The message names the field.",
  },
  NOT_FOUND: {
    summary: "There is no such run or path.",
    cure: "Check the id.",
  },
  ENVIRONMENT_INVALID: {
    summary: "The name of an environment cannot be used.",
    cure: "Give 1 to 128 visible ASCII characters without a colon, such as the name of a branch; `default` is the environment that is meant when none is named.",
  },
  ENVIRONMENT_REFUSED: {
    summary: "A key was used for an environment that it does not belong to.",
    cure: "Use the key of that environment, or name the key's own: the client option `env`, HOLDFAST_ENV, or the header x-inngest-env.",
  },
  REQUEST_NOT_OWNED: {
    summary: "A worker reported on a request that was given to another app.",
    cure: "Send back what the request carried: its run, its lease and its app's id, over a connection that registered the app.",
  },
  UNAUTHORIZED: {
    summary: "The signing key or event key is missing or wrong.",
    cure: "Use the key that the gateway was started with.",
  },
  HOST_REFUSED: {
    summary: "The gateway was called by a name that it does not have.",
    cure: "Call it by localhost, its address or its own name; other names are given to it with `--allowed-host`.",
  },
  ORIGIN_REFUSED: {
    summary: "A page of another origin called the gateway from a browser.",
    cure: "Give the gateway the origins of pages that may call it with `--allowed-origin`.",
  },
  BODY_TOO_LARGE: {
    summary: "The body of an HTTP request is larger than the limit.",
    cure: "Send less at once; the message has the limit.",
  },
  SIGNAL_CONFLICT: {
    summary: "A step wanted to wait for a signal for which another step waits already, of this run or of another.",
    cure: 'Give each waiting step a signal of its own, or take the place of the other with `onConflict: "replace"`.',
  },
  INVOKE_TIMEOUT: {
    summary: "An invoked function did not end before the invocation's timeout.",
    cure: "Give the invocation a longer `timeout`, or look at the run of the invoked function; it goes on.",
  },
  RUN_DEADLINE_EXCEEDED: {
    summary: "A run was not over at its deadline; it was failed and is not tried again.",
    cure: "Give the function a later `deadline`, or find what took so long in the run's steps.",
  },
  FETCH_FAILED: {
    summary: "The gateway could not make the HTTP call of a step.",
    cure: "The message has the reason; check the address from the gateway's machine.",
  },
  FETCH_TIMEOUT: {
    summary: "An HTTP call that the gateway made for a step took too long.",
    cure: "Make the other side answer sooner, or make the call inside `step.run`.",
  },
  FETCH_REFUSED: {
    summary: "The gateway does not make the HTTP call of a step: the address is not allowed, or it redirects for ever.",
    cure: "The message says which. A gateway that other machines can reach calls no private addresses; make such calls inside `step.run`, or allow them with `--fetch-inner`.",
  },
  FETCH_TOO_LARGE: {
    summary: "The answer to an HTTP call that the gateway made for a step is larger than a step's result may be.",
    cure: "Ask for less, or make the call inside `step.run` and keep only what is needed.",
  },
  OP_UNSUPPORTED: {
    summary: "A function used a kind of step that this gateway cannot do yet.",
    cure: "The message names the kind; use another one, or a newer gateway.",
  },
  OP_INVALID: {
    summary: "A step or a reply that an app reported could not be understood.",
    cure: "The message names what was wrong; mostly app and gateway are of very different versions.",
  },
  RUN_TOO_LARGE: {
    summary: "A run has more steps, or its steps returned more data, than a run may have.",
    cure: "Split the work over several runs, or keep large data elsewhere and return references.",
  },
  RUN_STATE_UNAVAILABLE: {
    summary: "The steps of a run that is too large for one request could not be fetched from the gateway.",
    cure: "Check that the gateway can be reached at the app's base URL and accepts its signing key; the message has its answer. The pass is tried again.",
  },
  EXPRESSION_INVALID: {
    summary: "An expression in a function's configuration or in a step cannot be read.",
    cure: "The message says what is wrong with it; expressions are CEL, and know `event` and, where an event is waited for, `async`.",
  },
  EXPRESSION_FAILED: {
    summary: "An expression could not be evaluated for an event.",
    cure: "It counts as no match. Mostly a value has another type than the expression expects; convert it, or test it with `has(...)` first. One that takes too much work compares less, or looks at shorter text and lists.",
  },
  STORE_FAILED: {
    summary: "The database refused a write for good.",
    cure: "The message has the database's reason.",
  },
  // Testing parts
  TEST_TIMEOUT: {
    summary: "Something that a test waited for did not happen in time.",
    cure: "The message has what was seen instead; raise the time limit only if the machine was slow.",
  },
  TEST_LEAK: {
    summary: "A test left something behind: a socket, a timer, a thread, a process or a server.",
    cure: "The message lists what is left; end it in the test, `await using` does so by itself.",
  },
  TEST_PROCESS_ENDED: {
    summary: "A process ended before it said what a test waited for.",
    cure: "The message has its exit code and last lines.",
  },
  TEST_STEP_UNANSWERED: {
    summary: "A function under test called something that only a gateway can do, and the test does not answer it.",
    cure: "Give the step in `steps`, with a `handler` that returns the answer; an invoked function may be given in `functions`.",
  },
  INTERNAL: {
    summary: "Something happened that should not be possible.",
    cure: "Please report it with the log around it.",
  },
} as const satisfies Record<string, { readonly summary: string; readonly cure: string }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

const BRAND = Symbol.for("holdfast.error");

/**
 * Every error that Holdfast raises: `code` is stable, `message` says what was wrong and how to mend it.
 * `HoldfastError.is` also recognises errors of another copy of the package in the same process.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "HoldfastError";
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  static is(value: unknown): value is HoldfastError {
    try {
      return typeof value === "object" && value !== null && BRAND in value;
    } catch {
      // A proxy may throw at any look.
      return false;
    }
  }
}

/** An error as plain data: how errors cross threads, the wire and the store. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: unknown;
  /** The error's own enumerable fields, when they are JSON. */
  readonly data?: Readonly<Record<string, unknown>>;
}

const MAX_CAUSE_DEPTH = 5;
/** How many errors of an AggregateError are kept. */
const MAX_ERRORS = 20;
/** How many errors are kept in all: those of an AggregateError may be such themselves, or it again. */
const MAX_NESTED_ERRORS = 50;
const OWN_FIELDS = new Set(["name", "message", "stack", "cause"]);

/**
 * Reads anything that was thrown. Causes are kept to a depth of 5; a thrown value that is no error becomes one. Never
 * throws itself, whatever getters and proxies the value has.
 */
export function toPlainError(thrown: unknown): PlainError {
  return plainError(thrown, { depth: 0, budget: { left: MAX_NESTED_ERRORS } });
}

/** How far from the outermost error this one is, and how many more may be read. */
interface Nesting {
  readonly depth: number;
  readonly budget: { left: number };
}

function plainError(thrown: unknown, nesting: Nesting): PlainError {
  try {
    return isErrorLike(thrown) ? readError(thrown, nesting) : { name: "Error", message: describe(thrown) };
  } catch {
    return { name: "Error", message: UNREADABLE };
  }
}

function inner({ depth, budget }: Nesting): Nesting | undefined {
  if (depth >= MAX_CAUSE_DEPTH || budget.left <= 0) return undefined;
  budget.left -= 1;
  return { depth: depth + 1, budget };
}

const UNREADABLE = "Something was thrown that cannot be read.";

function readError(thrown: Error, nesting: Nesting): PlainError {
  const { cause, code, stack } = thrown as { cause?: unknown; code?: unknown; stack?: unknown };
  const within = cause === undefined ? undefined : inner(nesting);
  const data = ownData(thrown, nesting);
  return {
    name: String(thrown.name || "Error"),
    message: String(thrown.message),
    ...(typeof stack === "string" ? { stack } : {}),
    ...(typeof code === "string" ? { code } : {}),
    ...(within ? { cause: causeOf(cause, within) } : {}),
    ...(data ? { data } : {}),
  };
}

function causeOf(cause: unknown, nesting: Nesting): unknown {
  try {
    return isErrorLike(cause) ? plainError(cause, nesting) : jsonOrText(cause);
  } catch {
    return UNREADABLE;
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    return isErrorLike(thrown) ? String(thrown.message) : describe(thrown);
  } catch {
    return UNREADABLE;
  }
}

function isErrorLike(value: unknown): value is Error {
  if (value instanceof Error) return true;
  return typeof value === "object" && value !== null && "message" in value && "name" in value;
}

function ownData(error: Error, nesting: Nesting): Record<string, unknown> | undefined {
  const data: Record<string, unknown> = {};
  for (const key of Object.keys(error)) {
    if (OWN_FIELDS.has(key)) continue;
    const value = fieldOf(error, key);
    const json = key === "code" && typeof value === "string" ? undefined : asJson(value);
    if (json !== undefined) data[key] = json;
  }
  // Those of an AggregateError, as `Promise.any` throws it, are not enumerable.
  const { errors } = error as { errors?: unknown };
  const kept = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : [];
  if (kept.length > 0 && kept.every(isErrorLike)) {
    const read = kept.flatMap((each) => {
      const within = inner(nesting);
      return within ? [plainError(each, within)] : [];
    });
    if (read.length > 0) data.errors = read;
  }
  return Object.keys(data).length > 0 ? data : undefined;
}

/** A getter that throws is as good as no field. */
function fieldOf(error: Error, key: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function asJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function jsonOrText(value: unknown): unknown {
  return asJson(value) ?? describe(value);
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}
