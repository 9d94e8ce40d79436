/**
 * Where the gateway's thread writes: to the streams of its process, which writes for it. A thread's own streams would
 * lose what still waits in them when the thread ends.
 */
import type { MessagePort } from "node:worker_threads";
import type { Terminal, TerminalFacts } from "./terminal.ts";
import type { FromThread, StreamName, ThreadData } from "./thread-messages.ts";

/** So many characters may be on their way; then the thread waits for the reader, as a process at a pipe does. */
const MOST_UNWRITTEN = 4 * 1024 * 1024;
const LOOK_AGAIN_MS = 1_000;

export interface ThreadOutput {
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  /** A terminal has another size. */
  resized(stream: StreamName, facts: TerminalFacts): void;
}

export function threadOutput(port: Pick<MessagePort, "postMessage">, data: ThreadData): ThreadOutput {
  const write = (stream: StreamName, text: string): void => {
    waitForRoom(data.unwritten);
    Atomics.add(data.unwritten, 0, text.length);
    const message: FromThread = { type: "write", stream, text };
    port.postMessage(message);
  };
  const streams = {
    stdout: new Stream(data.terminals.stdout, (text) => write("stdout", text)),
    stderr: new Stream(data.terminals.stderr, (text) => write("stderr", text)),
  };
  return { ...streams, resized: (stream, facts) => streams[stream].resize(facts) };
}

function waitForRoom(unwritten: Int32Array): void {
  for (;;) {
    const count = Atomics.load(unwritten, 0);
    if (count < MOST_UNWRITTEN) return;
    Atomics.wait(unwritten, 0, count, LOOK_AGAIN_MS);
  }
}

class Stream implements Terminal {
  readonly write: (text: string) => void;
  readonly #listeners = new Set<() => void>();
  #facts: TerminalFacts;

  constructor(facts: TerminalFacts, write: (text: string) => void) {
    this.#facts = facts;
    this.write = write;
  }

  get isTTY(): boolean {
    return this.#facts.isTTY;
  }

  get columns(): number | undefined {
    return this.#facts.columns;
  }

  get rows(): number | undefined {
    return this.#facts.rows;
  }

  on(_event: "resize", listener: () => void): void {
    this.#listeners.add(listener);
  }

  off(_event: "resize", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  resize(facts: TerminalFacts): void {
    this.#facts = facts;
    for (const listener of this.#listeners) listener();
  }
}
