/**
 * Waits until runs have ended: the gateway answers once they have. A terminal is shown that it waits; a pipe gets a line
 * for each change that is seen, on stderr. A signal ends the wait in words, and the runs go on.
 */
import { constants } from "node:os";
import { HoldfastError, messageOf, sleep, systemClock, systemTimers } from "@holdfast/core";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { type GatewayClient, isPassing } from "./gateway-client.ts";
import type { Output } from "./output.ts";
import { withProgress } from "./progress.ts";
import { isEnded, type ShownRunDetail } from "./run-text.ts";
import { visible } from "./table.ts";

/** What a gateway waits at a time; a call may take 30 s. */
const WAIT_MS = 20_000;
/** Before a gateway that shuts down, or one that knows no waiting, is asked again. */
const PAUSE_MS = 250;

interface AskedRun {
  readonly log?: boolean;
  readonly waitMs?: number;
  /** Waits for the last of the runs as which it goes on. Default: it does. */
  readonly links?: boolean;
}

export function getRun(
  client: GatewayClient,
  id: string,
  { log = false, waitMs = 0, links = true }: AskedRun = {},
): Promise<ShownRunDetail> {
  const query = new URLSearchParams({
    ...(log ? { log: "1" } : {}),
    ...(waitMs > 0 ? { wait: String(waitMs) } : {}),
    ...(links ? {} : { links: "one" }),
  });
  return client.get(`/v1/runs/${encodeURIComponent(id)}${query.size > 0 ? `?${query}` : ""}`);
}

export interface WaitOptions {
  readonly output: Output;
  readonly timeoutMs: number;
  readonly log?: boolean;
  readonly links?: boolean;
  /** Says what it waits for, and ends with a signal; else a command of its own does that. */
  readonly speaks?: boolean;
  /** There are runs with these ids. Default: the first answer says whether there are. */
  readonly exist?: boolean;
}

/**
 * The runs as they are when all have ended, or when `timeoutMs` is over. A gateway that goes once a run is known is waited
 * for as long.
 */
export async function awaitRuns(
  client: GatewayClient,
  ids: readonly string[],
  { output, timeoutMs, log = false, links = true, speaks = false, exist = false }: WaitOptions,
): Promise<readonly ShownRunDetail[]> {
  const endMs = systemClock.monotonicMs() + timeoutMs;
  let open = ids.length;
  const text = (): string => `Waiting for ${open === 1 ? "a run" : `${open} runs`} to end …`;
  const changes = speaks && !output.showsProgress ? new Changes(output) : undefined;
  const gone = new GoneGateway(speaks ? output : null);
  const awaitRun = async (id: string): Promise<ShownRunDetail> => {
    let isKnown = exist;
    let failure: unknown;
    /** Null: another gateway, or this one once it is back, is to be asked. */
    const unlessPassing = (error: unknown): null => {
      const isClosing = HoldfastError.is(error) && error.code === "GATEWAY_CLOSING";
      if (!isClosing && !(isKnown && isPassing(error))) throw error;
      failure = error;
      if (!isClosing) gone.recordFailure(error);
      return null;
    };
    const ask = async (options: AskedRun): Promise<ShownRunDetail | null> => {
      const run = await getRun(client, id, options).catch(unlessPassing);
      if (!run) return null;
      isKnown = true;
      gone.recordAnswer();
      changes?.show(run);
      return run;
    };
    if (changes) await ask({});
    for (;;) {
      const askedMs = systemClock.monotonicMs();
      const waitMs = Math.round(Math.max(1, Math.min(WAIT_MS, endMs - askedMs)));
      const run = await ask({ log, waitMs, links });
      if (run && isEnded(run)) {
        open -= 1;
        return run;
      }
      if (systemClock.monotonicMs() >= endMs) {
        if (run) return run;
        throw failure;
      }
      const early = waitMs - (systemClock.monotonicMs() - askedMs);
      if (early > 0) await sleep(systemTimers, Math.min(PAUSE_MS, early));
    }
  };
  const unlisten = speaks ? endBySignal(output, ids) : (): void => {};
  try {
    const runs = await withProgress(output, text, () => Promise.all(ids.map(awaitRun)));
    if (speaks && open > 0) output.note(`${open === 1 ? "A run has" : `${open} runs have`} not ended in time.\n`);
    return runs;
  } finally {
    unlisten();
  }
}

/** A line for each run that has another status than it had. */
class Changes {
  readonly #output: Output;
  readonly #known = new Map<string, string>();

  constructor(output: Output) {
    this.#output = output;
  }

  show(run: ShownRunDetail): void {
    if (this.#known.get(run.id) === run.status) return;
    this.#known.set(run.id, run.status);
    this.#output.note(`run ${visible(run.id)} of ${visible(run.functionId)}: ${run.status}\n`);
  }
}

/** Says once that the gateway is gone, and once that it is back, however many runs are asked for. */
class GoneGateway {
  readonly #output: Output | null;
  #isGone = false;

  constructor(output: Output | null) {
    this.#output = output;
  }

  recordFailure(error: unknown): void {
    if (!this.#isGone) this.#output?.note(`The gateway is gone (${messageOf(error)}); waiting for it …\n`);
    this.#isGone = true;
  }

  recordAnswer(): void {
    if (this.#isGone) this.#output?.note("The gateway is back.\n");
    this.#isGone = false;
  }
}

/** As a shell counts: 128 and the signal's number. */
function endBySignal(output: Output, ids: readonly string[]): () => void {
  const what = ids.length === 1 ? `run ${visible(ids[0] ?? "")} goes` : `${ids.length} runs go`;
  const end = (signal: NodeJS.Signals): void => {
    output.note(`${output.showsProgress ? "\n" : ""}${signal}: no longer waiting; ${what} on.\n`);
    process.exit(128 + constants.signals[signal]);
  };
  process.on("SIGINT", end);
  process.on("SIGTERM", end);
  return () => {
    process.off("SIGINT", end);
    process.off("SIGTERM", end);
  };
}

/** Of runs that were waited for. */
export function exitCodeOfRuns(runs: readonly ShownRunDetail[]): ExitCode {
  return runs.every(({ status }) => status === "COMPLETED") ? EXIT.done : EXIT.otherwise;
}
