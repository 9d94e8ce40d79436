/**
 * The process of `dev` and `start`: it runs the gateway in a thread, because only a thread can be given more memory for
 * young objects (docs/decisions/0155). What belongs to a process stays here: signals, the parent, the terminal.
 */
import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import { Worker } from "node:worker_threads";
import { HoldfastError } from "@holdfast/core";
import { EXIT } from "../exit-codes.ts";
import { outliveReaders } from "../output.ts";
import { type FromThread, STREAMS, type StreamName, type ThreadData, type ToThread } from "./thread-messages.ts";
import { youngGenerationMb } from "./young-generation.ts";

/** What a thread that computes is left to end by itself when it is told so for the last time. */
const LAST_WORDS_MS = 1_000;

/**
 * Carries out this process's command line in a thread. Answers with the exit code once that has ended; what went wrong
 * has been reported by then.
 *
 * @throws HoldfastError `GATEWAY_OUT_OF_MEMORY`; what the thread could not report itself
 */
export async function serveInThread(): Promise<number> {
  outliveReaders();
  const unwritten = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: ThreadData = {
    script: process.argv[1] ?? "",
    terminals: { stdout: terminalFacts("stdout"), stderr: terminalFacts("stderr") },
    unwritten,
  };
  const youngMb = youngGenerationMb(memoryBytes());
  const thread = new Worker(new URL("./gateway-thread.js", import.meta.url), {
    workerData,
    argv: process.argv.slice(2),
    name: "holdfast-gateway",
    resourceLimits: youngMb === undefined ? {} : { maxYoungGenerationSizeMb: youngMb },
  });
  const send = (message: ToThread): void => thread.postMessage(message);
  const endLines = passOn(send);
  thread.on("message", ({ stream, text }: FromThread) => {
    process[stream].write(text, () => {
      Atomics.sub(unwritten, 0, text.length);
      Atomics.notify(unwritten, 0);
    });
  });
  try {
    return await ended(thread);
  } finally {
    endLines();
  }
}

/** Passes on what only a process hears: signals, the end of its parent, another size of the terminal. */
function passOn(send: (message: ToThread) => void): () => void {
  let stops = 0;
  const stop = (): void => {
    stops += 1;
    send({ type: "stop" });
    // The thread ends at the third; one that does not get to read it is ended with the process.
    if (stops === 3) setTimeout(() => process.exit(EXIT.failed), LAST_WORDS_MS);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  if (process.send) process.on("disconnect", stop);
  const resizes = STREAMS.map((stream) => {
    const resized = (): void => send({ type: "resize", stream, facts: terminalFacts(stream) });
    process[stream].on("resize", resized);
    return () => process[stream].off("resize", resized);
  });
  return () => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    process.off("disconnect", stop);
    for (const end of resizes) end();
  };
}

function terminalFacts(stream: StreamName): ThreadData["terminals"][StreamName] {
  const { isTTY = false, columns, rows } = process[stream];
  return { isTTY, columns, rows };
}

function ended(thread: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    thread.on("error", (error: Error) => {
      failure = outOfMemory(error) ?? error;
    });
    thread.on("exit", (code) => (failure === undefined ? resolve(code) : reject(failure)));
  });
}

function outOfMemory(error: Error): HoldfastError | undefined {
  if (!("code" in error) || error.code !== "ERR_WORKER_OUT_OF_MEMORY") return undefined;
  return new HoldfastError(
    "GATEWAY_OUT_OF_MEMORY",
    "The gateway ran out of memory and has ended. What it had acknowledged is in the database. " +
      "NODE_OPTIONS=--max-old-space-size=<megabytes> gives it more.",
    { cause: error },
  );
}

/** What this process may take: of the machine, or of its container. */
function memoryBytes(): number {
  const limit = constrainedMemory();
  // Without a limit Node says nothing, or more than any machine has.
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
