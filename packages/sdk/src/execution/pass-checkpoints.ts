/**
 * What a pass sends while it goes on: when the machine's checkpoints leave, and what they say. `Pass` owns one; the
 * connection numbers, keeps and repeats them.
 */
import { type CheckpointOutcome, sharableText } from "@holdfast/protocol";
import type { Checkpoint, PassEvent } from "../steps/pass-types.ts";
import { blockingHandlers, cpuTime } from "./blocking-handlers.ts";
import type { CheckpointPort } from "./execution.ts";
import { afterMicrotasks } from "./microtasks.ts";
import { opsBytes } from "./op-bytes.ts";
import type { PassOptions } from "./pass-options.ts";
import { textOf } from "./result-of.ts";
import type { StepRecord } from "./step-record.ts";

export interface PassCheckpointsDeps {
  /** Everything has happened that follows at once from the results that the handler was given. */
  readonly isSettled: () => boolean;
  readonly find: (hash: string) => StepRecord | undefined;
  readonly send: (event: PassEvent) => void;
}

export class PassCheckpoints {
  readonly #port: CheckpointPort;
  readonly #deps: PassCheckpointsDeps;
  readonly #options: Pick<PassOptions, "fn" | "ports" | "watch">;
  readonly #looksAhead: boolean;

  constructor(options: PassOptions, deps: PassCheckpointsDeps) {
    const { port, mode } = options;
    this.#port = port;
    this.#options = options;
    this.#deps = deps;
    this.#looksAhead = mode.type === "in-place" && mode.looksAhead;
  }

  /**
   * Asks for a flush, but not before the handler has had its turn: with its end the results go in the reply. A handler
   * that is known to block the thread in its turn gets it afterwards.
   */
  readonly flushSoon = (): void => {
    if (!this.#looksAhead) return afterMicrotasks(this.#flush);
    const { fn, ports, watch } = this.#options;
    const startedMs = ports.clock.monotonicMs();
    const startedCpuMs = cpuTime.readMs(startedMs);
    const isFlushed = watch !== undefined || blockingHandlers.has(fn);
    const turn = blockingHandlers.openTurn();
    const whenSettled = (): void => {
      if (!this.#deps.isSettled()) return afterMicrotasks(whenSettled);
      const endedMs = ports.clock.monotonicMs();
      blockingHandlers.closeTurn(fn, turn, endedMs - startedMs, () => cpuTime.readMs(endedMs) - startedCpuMs);
      if (!isFlushed) this.#flush();
    };
    if (isFlushed) this.#flush();
    afterMicrotasks(whenSettled);
  };

  readonly #flush = (): void => this.#deps.send({ type: "flush" });

  store({ ops, parked }: Checkpoint): void {
    const { find, send } = this.#deps;
    const texts = parked.map((report) => textOf(report, find));
    const answered = (outcome: CheckpointOutcome): void => {
      if (outcome === "stored") for (const { hash } of ops) find(hash)?.noteStored();
      send({ type: "answered", outcome });
    };
    // When the connection cannot say what became of it, the reply carries the ops; the gateway knows them by id.
    this.#port.checkpoint(opsBytes(ops, texts)).then(answered, () => answered("invalid"));
  }

  /** A gateway that knows what is under way at the deadline, and can be undone, waits for its result. */
  readonly announce = (record: StepRecord, begin: () => void): void => {
    const { send } = this.#deps;
    this.#port.checkpoint(sharableText(`[${record.ops.begun().text}]`)).then((outcome) => {
      if (outcome === "stale") send({ type: "stop" });
      begin();
    }, begin);
  };
}
