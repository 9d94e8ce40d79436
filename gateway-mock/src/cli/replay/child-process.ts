/** The process that loads an app and replays its runs (`replay-process.ts`), as the command that started it sees it. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { deferred, systemTimers, type TimerHandle } from "@holdfast/core";
import { EXIT } from "../exit-codes.ts";
import type { FromReplay, ToReplay } from "./replay-messages.ts";

export type Answer =
  | Exclude<FromReplay, { type: "exited" | "loading" }>
  /** `how` is in words. Null: not known by the code of which run. */
  | { readonly type: "ended"; readonly runId: string | null; readonly how: string }
  | { readonly type: "blocked" };

/** Node itself may take long to start where all processors are busy: only the app's own code is to be in time. */
const START_MS = 60_000;
/** What the process is left to write its last lines. */
const LAST_LINES_MS = 1_000;

/** As a file of its own in the build; here among the sources. */
const SCRIPT = new URL(`./replay-process.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);

export class ReplayProcess {
  readonly #child: ChildProcess;
  readonly #ended = deferred<Answer>();
  #answered = deferred<Answer>();
  #limit: { readonly ms: number; readonly timer: TimerHandle } | undefined;
  #exitedIn: string | null = null;
  #isSpent = false;

  constructor() {
    this.#child = fork(fileURLToPath(SCRIPT), {
      // What an app prints goes to stderr: results can be read by a program.
      stdio: ["ignore", 2, 2, "ipc"],
      // An app that wants to know why it is loaded looks here.
      env: { ...process.env, HOLDFAST_REPLAY: "1" },
    });
    this.#child.on("message", (message: FromReplay) => {
      if (message.type === "exited") this.#exitedIn = message.runId;
      else if (message.type === "loading") this.#limitTo(this.#limit?.ms ?? 0);
      else this.#answered.resolve(message);
    });
    this.#child.on("error", (error) => this.#end(error.message));
    // Not before what it has said is read.
    this.#child.on("close", (code, signal) => this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`));
    process.on("SIGINT", this.#onSigint);
    process.on("SIGTERM", this.#onSigterm);
  }

  /** It has ended, or is about to: what is to be replayed next needs another one. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** What it said unasked, of code that an earlier run has left behind, is the answer to the next question. */
  async ask(message: ToReplay, limitMs: number): Promise<Answer> {
    this.#limitTo(limitMs, message.type === "load" ? START_MS : 0);
    // One that has ended says so itself.
    this.#child.send(message, () => {});
    const answer = await Promise.race([this.#answered.promise, this.#ended.promise]);
    this.#limit?.timer.cancel();
    this.#answered = deferred();
    this.#isSpent = answer.type === "threw" || answer.type === "ended" || answer.type === "blocked";
    return answer;
  }

  close(): void {
    process.off("SIGINT", this.#onSigint);
    process.off("SIGTERM", this.#onSigterm);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    if (this.#child.connected) this.#child.disconnect();
    const timer = systemTimers.set(LAST_LINES_MS, () => this.#child.kill("SIGKILL"));
    this.#child.once("exit", () => timer.cancel());
  }

  /** It may take `ms` from now on, and `startMs` more until it says that it begins to load. */
  #limitTo(ms: number, startMs = 0): void {
    this.#limit?.timer.cancel();
    const timer = systemTimers.set(startMs + ms, () => {
      this.#answered.resolve({ type: "blocked" });
      this.#child.kill("SIGKILL");
    });
    this.#limit = { ms, timer };
  }

  #end(how: string): void {
    this.#ended.resolve({ type: "ended", runId: this.#exitedIn, how });
  }

  /** One that is blocked would outlive the command. */
  readonly #onSigint = (): void => this.#endWith(EXIT.interrupted);
  readonly #onSigterm = (): void => this.#endWith(EXIT.terminated);

  #endWith(code: number): void {
    this.#child.kill("SIGKILL");
    process.exit(code);
  }
}
