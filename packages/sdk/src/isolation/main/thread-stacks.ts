/**
 * Reads what a thread of the pool is doing, from outside: only its inspector is answered by code that never yields. Main
 * reaches that of its threads through the `NodeWorker` domain of a session of its own. docs/decisions/0086.
 *
 * The session is opened when it is needed first and stays: Node 22 crashed when sessions were opened and closed many
 * times. A thread is found by its title, since the ids of that domain are not those of `threadId`.
 */
import type { Session } from "node:inspector";
import type { TimerHandle, Timers } from "@holdfast/core";
import { nodeModule } from "../../runtime.ts";
import { type LastWords, lastWordsOf } from "../shared/last-words.ts";

/** Calls what a pool thread keeps for this; the key is `POOL_THREAD_KEY`. */
const QUESTION = `(() => { try { return globalThis[Symbol.for("holdfast.poolThread")].lastStack() } catch { return "" } })()`;

interface Asked {
  readonly answer: (words: LastWords | null) => void;
  sessionId?: string;
}

interface Params {
  readonly sessionId: string;
  readonly workerInfo: { readonly title: string };
  readonly message: string;
}

let stacks: ThreadStacks | null | undefined;

/** What the thread says; null = it could not be read in time, or not in this process. */
export async function readLastWords(threadId: number, limitMs: number, timers: Timers): Promise<LastWords | null> {
  if (stacks === undefined) stacks = ThreadStacks.open();
  return stacks === null ? null : stacks.read(threadId, limitMs, timers);
}

class ThreadStacks {
  readonly #session: Session;
  /** Session ids, by `threadId`. */
  readonly #threads = new Map<string, string>();
  readonly #asked = new Map<string, Asked>();

  static open(): ThreadStacks | null {
    const { isMainThread } = nodeModule("node:worker_threads");
    const { permission, versions } = process;
    const mayNot = permission !== undefined && !permission.has("inspector");
    if (!isMainThread || mayNot || versions.bun !== undefined || versions.deno !== undefined) return null;
    try {
      return new ThreadStacks();
    } catch {
      // This Node was built without an inspector.
      return null;
    }
  }

  constructor() {
    const { Session: NodeSession } = process.getBuiltinModule("node:inspector");
    this.#session = new NodeSession();
    this.#session.connect();
    this.#on("attachedToWorker", ({ sessionId, workerInfo }) => {
      const threadId = /^\[worker (\d+)\]/.exec(workerInfo.title)?.[1];
      if (threadId === undefined) return;
      this.#threads.set(threadId, sessionId);
      this.#ask(threadId);
    });
    this.#on("detachedFromWorker", ({ sessionId }) => {
      for (const [threadId, known] of this.#threads) {
        if (known !== sessionId) continue;
        this.#threads.delete(threadId);
        this.#asked.get(threadId)?.answer(null);
      }
    });
    this.#on("receivedMessageFromWorker", ({ sessionId, message }) => {
      const asked = [...this.#asked.values()].find((one) => one.sessionId === sessionId);
      asked?.answer(answerIn(message));
    });
    this.#session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  }

  read(threadId: number, limitMs: number, timers: Timers): Promise<LastWords | null> {
    const key = String(threadId);
    return new Promise((resolve) => {
      let limit: TimerHandle | undefined;
      const answer = (words: LastWords | null): void => {
        limit?.cancel();
        this.#asked.delete(key);
        resolve(words);
      };
      limit = timers.set(limitMs, () => answer(null));
      this.#asked.set(key, { answer });
      this.#ask(key);
    });
  }

  /** Once the thread is known: also one that is attached to a moment later. */
  #ask(threadId: string): void {
    const asked = this.#asked.get(threadId);
    const sessionId = this.#threads.get(threadId);
    if (asked === undefined || sessionId === undefined || asked.sessionId !== undefined) return;
    asked.sessionId = sessionId;
    const params = { expression: QUESTION, returnByValue: true, silent: true };
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params });
    this.#session.post("NodeWorker.sendMessageToWorker", { sessionId, message }, (error) => {
      if (error) asked.answer(null);
    });
  }

  #on(what: string, listener: (params: Params) => void): void {
    this.#session.on(`NodeWorker.${what}`, ({ params }: { readonly params: Params }) => listener(params));
  }
}

function answerIn(message: string): LastWords | null {
  const { result } = JSON.parse(message) as { readonly result?: { readonly result?: { readonly value?: unknown } } };
  const value = result?.result?.value;
  return typeof value === "string" ? lastWordsOf(value) : null;
}
