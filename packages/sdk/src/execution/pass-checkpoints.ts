/**
 * What a pass sends while it goes on: when the machine's checkpoints leave, and what they say. `Pass` owns one; the
 * connection numbers, keeps and repeats them.
 */
import { type CheckpointOutcome, sharableText } from "@holdfast/protocol";
import type { Checkpoint } from "../steps/pass-types.ts";
import { blockingHandlers, cpuTime } from "./blocking-handlers.ts";
import { afterMicrotasks } from "./microtasks.ts";
import { opsBytes } from "./op-bytes.ts";
import { placed } from "./op-text.ts";
import type { PassHost } from "./pass-host.ts";
import type { PassOptions } from "./pass-options.ts";
import { textOf } from "./result-of.ts";
import type { StepRecord } from "./step-record.ts";

type CheckpointsHost = Pick<PassHost, "isSettled" | "find" | "send">;

export class PassCheckpoints {
  readonly #options: Pick<PassOptions, "fn" | "mode" | "port" | "ports" | "watch">;
  readonly #host: CheckpointsHost;

  constructor(options: PassOptions, host: CheckpointsHost) {
    this.#options = options;
    this.#host = host;
  }

  /**
   * Asks for a flush, but not before the handler has had its turn: with its end the results go in the reply. A handler
   * that is known to block the thread in its turn gets it afterwards.
   */
  flushSoon(): void {
    const { fn, mode, ports, watch } = this.#options;
    const flush = (): void => this.#host.send({ type: "flush" });
    if (mode.type !== "in-place" || !mode.looksAhead) return afterMicrotasks(flush);
    const startedMs = ports.clock.monotonicMs();
    const startedCpuMs = cpuTime.readMs(startedMs);
    const isFlushed = watch !== undefined || blockingHandlers.has(fn);
    const turn = blockingHandlers.openTurn();
    const whenSettled = (): void => {
      if (!this.#host.isSettled) return afterMicrotasks(whenSettled);
      const endedMs = ports.clock.monotonicMs();
      blockingHandlers.closeTurn(fn, turn, endedMs - startedMs, () => cpuTime.readMs(endedMs) - startedCpuMs);
      if (!isFlushed) flush();
    };
    if (isFlushed) flush();
    afterMicrotasks(whenSettled);
  }

  store({ ops, position, parked }: Checkpoint): void {
    const host = this.#host;
    const texts = parked.map((report) => textOf(report, (hash) => host.find(hash)));
    const answered = (outcome: CheckpointOutcome): void => {
      if (outcome === "stored") for (const { hash } of ops) host.find(hash)?.noteStored();
      host.send({ type: "answered", outcome });
    };
    // When the connection cannot say what became of it, the reply carries the ops; the gateway knows them by id.
    this.#options.port.checkpoint(opsBytes(placed(ops, position), texts)).then(answered, () => answered("invalid"));
  }

  /** A gateway that knows what is under way at the deadline, and can be undone, waits for its result. */
  announce(record: StepRecord, begin: () => void): void {
    this.#options.port.checkpoint(sharableText(`[${record.ops.begun().text}]`)).then((outcome) => {
      if (outcome === "stale") this.#host.send({ type: "stop" });
      begin();
    }, begin);
  }
}
