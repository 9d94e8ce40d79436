/**
 * Replays runs on the build of an app, in a process of its own: the command outlives whatever a module or a handler does
 * to that, and says of which run it was. Where the process has ended the next run is given a new one.
 */
import { type ErrorCode, HoldfastError } from "@holdfast/core";
import { durationText } from "../../config/print-config.ts";
import { type Answer, ReplayProcess } from "./child-process.ts";
import type { LoadOptions, ReplayResult, ShownDivergence } from "./replay-messages.ts";
import { readRunHead } from "./run-head.ts";

/** The process says itself that a module takes too long, unless it is blocked. */
const BLOCKED_AFTER_MS = 5_000;
/** The app's `holdfast` says of a handler that waits that it is stuck, after ten seconds. */
const REPLAY_LIMIT_MS = 30_000;

export class AppReplay {
  /** In the order in which the runs were given. */
  readonly results: ReplayResult[] = [];
  readonly #options: LoadOptions;
  #functions: readonly string[] = [];
  #process: ReplayProcess | undefined;

  private constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** @throws HoldfastError `GATEWAY_USAGE`, `REPLAY_APP_INVALID` */
  static async open({ app, loadTimeout }: { app: string | undefined; loadTimeout: number }): Promise<AppReplay> {
    if (app === undefined) {
      throw new HoldfastError(
        "GATEWAY_USAGE",
        "--app is missing: the module that your app starts with, such as ./dist/app.js.",
      );
    }
    const replay = new AppReplay({ app, loadTimeoutMs: loadTimeout });
    try {
      await replay.#load();
      return replay;
    } catch (error) {
      replay.close();
      throw error;
    }
  }

  /** Slugs of the build's functions. */
  get functions(): readonly string[] {
    return this.#functions;
  }

  /**
   * Replays one line of an export.
   * @throws HoldfastError `EXPORT_INVALID`, `REPLAY_APP_INVALID`
   */
  async run(line: string): Promise<void> {
    const loaded = this.#process && !this.#process.isSpent ? this.#process : await this.#load();
    const answer = await loaded.ask({ type: "replay", line }, REPLAY_LIMIT_MS);
    if (answer.type === "replayed") return void this.results.push(answer.result);
    if (answer.type === "refused") throw errorOf(answer.code, answer.message);
    const head = readRunHead(line);
    const divergence = divergenceOf(answer);
    const runId = "runId" in answer ? answer.runId : null;
    if (runId === null || runId === head.runId) return void this.results.push({ ...head, divergence, next: [] });
    // By code that an earlier run has left behind: this one has not had its turn.
    this.#fail(runId, divergence);
    return this.run(line);
  }

  /** Hears what the handlers have left behind, as far as it shows soon. */
  async finish(): Promise<readonly ReplayResult[]> {
    if (this.#process === undefined || this.#process.isSpent) return this.results;
    const answer = await this.#process.ask({ type: "finish" }, BLOCKED_AFTER_MS);
    if ("runId" in answer && answer.runId !== null) this.#fail(answer.runId, divergenceOf(answer));
    return this.results;
  }

  close(): void {
    this.#process?.close();
  }

  #fail(runId: string, divergence: ShownDivergence): void {
    const at = this.results.findLastIndex((result) => result.runId === runId);
    const result = this.results[at];
    if (result) this.results[at] = { ...result, divergence, next: [] };
  }

  async #load(): Promise<ReplayProcess> {
    const { app, loadTimeoutMs } = this.#options;
    this.#process?.close();
    this.#process = new ReplayProcess();
    const answer = await this.#process.ask({ type: "load", ...this.#options }, loadTimeoutMs + BLOCKED_AFTER_MS);
    if (answer.type === "refused") throw errorOf(answer.code, answer.message);
    if (answer.type !== "loaded") throw errorOf("REPLAY_APP_INVALID", whyNotLoaded(app, loadTimeoutMs, answer));
    this.#functions = answer.functions;
    return this.#process;
  }
}

function whyNotLoaded(app: string, loadTimeoutMs: number, answer: Answer): string {
  if (answer.type === "blocked") {
    const limit = `${app} was not loaded within ${durationText(loadTimeoutMs)} (--load-timeout)`;
    return `${limit}: its code runs without a pause, as an endless loop does.`;
  }
  const how = answer.type === "ended" ? answer.how : answer.type;
  return `${app} ends its process while it is loaded (${how}). Let it not do that where HOLDFAST_REPLAY is 1.`;
}

function divergenceOf(answer: Answer): ShownDivergence {
  switch (answer.type) {
    case "blocked":
      return { type: "handler-blocked" };
    case "threw":
      return { type: "handler-failed", message: answer.message };
    case "ended":
      return { type: "process-ended", message: answer.how };
    default:
      throw new Error(`The process that replays runs answers ${answer.type}.`);
  }
}

const errorOf = (code: ErrorCode | null, message: string): Error =>
  code === null ? new Error(message) : new HoldfastError(code, message);
