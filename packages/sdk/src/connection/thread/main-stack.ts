/**
 * Reads the stack of a main thread that is blocked, through its debugger. `StallWatch` decides when;
 * docs/decisions/0012 has the alternatives and what this costs.
 */
import type { Debugger, InspectorNotification, Session } from "node:inspector";
import { messageOf, type TimerHandle, type Timers } from "@holdfast/core";

/** A frame as the engine has it; lines and columns count from 1. */
export interface RawFrame {
  readonly functionName: string;
  readonly url: string;
  readonly line: number;
  readonly column: number;
  /** Where the script says its source map is. */
  readonly sourceMapUrl: string;
}

export interface MainSnapshot {
  /** Innermost first. */
  readonly frames: readonly RawFrame[];
  /** What `holdfast.currentExecution` gave in the stopped code; undefined = it could not be asked. */
  readonly execution: unknown;
}

/** One inspection of the stack of the main thread. */
export interface MainCapture {
  /** Main was stopped: what it did is known, or about to be. */
  readonly stopped: boolean;
  /** The result is no longer needed: main continues, if it was stopped. */
  cancel(): void;
}

export interface CaptureHandlers {
  /** Main was stopped and goes on. At most once; late when main was in native code. */
  readonly onSnapshot: (snapshot: MainSnapshot) => void;
  readonly onFailed: (why: string) => void;
  /** The session has been ended here, as main hears when it comes to it. Once, whatever else happened. */
  readonly onDisconnected: () => void;
}

const MAX_FRAMES = 50;
/** Frames that are asked for the current execution: some of Node's own cannot see the app's globals. */
const MAX_ASKED = 4;
/** How many characters of source map addresses are kept: a map inside of its script is part of them. */
const MAX_MAP_CHARS = 32 * 1024 * 1024;
/** How often main is stopped again, where another session let it go on before it could be asked. */
const MAX_STOPS_AGAIN = 3;
/** Main goes on after this, whatever became of the answers. */
const MAX_PAUSE_MS = 1_000;

/** The key is `CURRENT_EXECUTION_KEY` of the execution. */
const CURRENT_EXECUTION = `(() => { try { return JSON.stringify(globalThis[Symbol.for("holdfast.currentExecution")]?.() ?? null) } catch { return "null" } })()`;

interface Script {
  readonly url: string;
  readonly sourceMapUrl: string;
}

/**
 * Stops the main thread for a moment to see what it does, by way of its debugger: the one thing that a thread which runs
 * a loop still answers to. Native code does not; then main is stopped as soon as it comes out of it.
 *
 * Main cannot stay stopped. Every stop is answered with "go on" in the same turn, also those that another session asked for;
 * a timer switches the debugger off when that did not work; and when this thread dies its sessions end, which lets main go
 * on, too. A session ends only after the debugger has said that it is off.
 */
export function captureMainStack(timers: Timers, handlers: CaptureHandlers): MainCapture {
  let open = true;
  let connected = false;
  let limit: TimerHandle | undefined;
  let session: Session | undefined;
  let unanswered = 0;
  const stops = new Stops();
  const post: Post = (method, params, answered) => {
    unanswered += 1;
    session?.post(method, params, (error, answer) => {
      unanswered -= 1;
      answered?.(error, answer);
      if (!open && unanswered === 0) disconnect();
    });
  };
  const close = (): void => {
    if (!open) return;
    open = false;
    limit?.cancel();
    if (!connected) return handlers.onDisconnected();
    try {
      post("Debugger.disable");
    } catch {
      disconnect();
    }
  };
  const disconnect = (): void => {
    if (!connected) return;
    connected = false;
    keepAliveTimer?.cancel();
    try {
      session?.disconnect();
    } catch {
      // Main is ending.
    }
    handlers.onDisconnected();
  };
  // A session alone does not keep a thread's event loop going.
  let keepAliveTimer: TimerHandle | undefined;
  const keepAlive = (): void => {
    keepAliveTimer = timers.set(MAX_PAUSE_MS, keepAlive);
  };
  const fail = (error: unknown): void => {
    if (!open) return;
    close();
    if (stops.partial) handlers.onSnapshot(stops.partial);
    else handlers.onFailed(messageOf(error));
  };
  const take = (seen: MainSnapshot): void => {
    if (!open) return;
    const snapshot = stops.add(seen);
    if (!snapshot) return post("Debugger.pause");
    close();
    handlers.onSnapshot(snapshot);
  };

  try {
    session = newSession();
    const scripts = scriptsOf(session);
    session.on("Debugger.paused", (message) => {
      stops.count += 1;
      if (!open) return post("Debugger.resume");
      limit ??= timers.set(MAX_PAUSE_MS, () => fail(new Error("The main thread's debugger did not respond.")));
      inspectPause(post, message, scripts, take);
    });
    session.connectToMainThread();
    connected = true;
    keepAlive();
    const onError = (error: Error | null): void => {
      if (error) fail(error);
    };
    post("Debugger.enable", undefined, onError);
    post("Debugger.pause", undefined, onError);
  } catch (error) {
    fail(error);
  }
  return {
    get stopped() {
      return stops.count > 0;
    },
    cancel: close,
  };
}

/** @throws when this Node has no inspector */
function newSession(): Session {
  const inspector = process.getBuiltinModule("node:inspector");
  return new inspector.Session();
}

/** Scripts by id, as the debugger hears of them. */
function scriptsOf(session: Session): ReadonlyMap<string, Script> {
  const scripts = new Map<string, Script>();
  let mapChars = 0;
  session.on("Debugger.scriptParsed", ({ params }) => {
    const sourceMapUrl = params.sourceMapURL ?? "";
    mapChars += sourceMapUrl.length;
    scripts.set(params.scriptId, { url: params.url, sourceMapUrl: mapChars > MAX_MAP_CHARS ? "" : sourceMapUrl });
  });
  return scripts;
}

/** What the stops of one inspection have shown. */
class Stops {
  /** What the first stop showed, of which the execution is not known. */
  partial: MainSnapshot | undefined;
  count = 0;

  /** @returns what is known of main; undefined = it is to be stopped again */
  add(seen: MainSnapshot): MainSnapshot | undefined {
    if (seen.execution === undefined && this.count <= MAX_STOPS_AGAIN) {
      this.partial ??= seen;
      return undefined;
    }
    // By now main may do something else: what is seen counts only if it still belongs to a function.
    return this.partial && (seen.execution ?? null) === null ? this.partial : seen;
  }
}

/** Sends the debugger a message; every one has an answer, and they come in the order of the messages. */
type Post = (method: string, params?: object, answered?: (error: Error | null, answer?: object) => void) => void;

function inspectPause(
  post: Post,
  message: InspectorNotification<Debugger.PausedEventDataType>,
  scripts: ReadonlyMap<string, Script>,
  take: (snapshot: MainSnapshot) => void,
): void {
  const answers: unknown[] = [];
  let frames: RawFrame[] = [];
  try {
    const { callFrames } = message.params;
    frames = callFrames.slice(0, MAX_FRAMES).map((frame) => rawFrame(frame, scripts));
    const own = callFrames.filter((_, index) => !isNodes(frames[index]?.url ?? ""));
    for (const { callFrameId } of [...own, ...callFrames].slice(0, MAX_ASKED)) {
      const question = { callFrameId, expression: CURRENT_EXECUTION, returnByValue: true, silent: true };
      post("Debugger.evaluateOnCallFrame", question, (error, answer = {}) => {
        const { result, exceptionDetails } = answer as Partial<Debugger.EvaluateOnCallFrameReturnType>;
        if (error === null && !exceptionDetails) answers.push(result?.value);
      });
    }
  } finally {
    // The answers come first: messages are answered in their order.
    post("Debugger.resume", undefined, () => take({ frames, execution: parsed(answers) }));
  }
}

function rawFrame({ functionName, location, url }: Debugger.CallFrame, scripts: ReadonlyMap<string, Script>): RawFrame {
  const script = scripts.get(location.scriptId);
  return {
    functionName,
    url: script?.url || url,
    line: location.lineNumber + 1,
    column: (location.columnNumber ?? 0) + 1,
    sourceMapUrl: script?.sourceMapUrl ?? "",
  };
}

/** Frames of Node itself, and of scripts without a name. */
function isNodes(url: string): boolean {
  return url === "" || url.startsWith("node:");
}

/** The first frame that could see the app's globals knows; a `null` there means that no function was running. */
function parsed(answers: readonly unknown[]): unknown {
  const text = answers.find((answer) => typeof answer === "string");
  return text === undefined ? undefined : JSON.parse(text as string);
}
