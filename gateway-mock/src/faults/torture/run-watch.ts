/** Sees what a run's bodies do, from the frames of its workers. */
import { isHandlerEnd, isRecord, type Op } from "@holdfast/protocol";
import { type SeenFrame, stepName, textOf } from "../frame-facts.ts";
import type { SeenBody } from "./torture-types.ts";

const BODIES: ReadonlySet<Op["op"]> = new Set(["StepRun", "StepError", "StepFailed", "Step"]);
const STORED: ReadonlySet<Op["op"]> = new Set(["StepRun", "StepFailed", "Step"]);

/** What was seen of one run. */
export class RunWatch {
  readonly #bodies = new Map<string, SeenBody>();
  /** Of each request, what was stored when its worker was given it. */
  readonly #storedBefore = new Map<string, ReadonlySet<string>>();
  readonly #stored = new Set<string>();
  /** By request and checkpoint: what is stored once it is acknowledged so. Replies that are too late are acknowledged, too. */
  readonly #pending = new Map<string, readonly string[]>();
  #commits = 0;

  get bodies(): readonly SeenBody[] {
    return [...this.#bodies.values()];
  }

  get commits(): number {
    return this.#commits;
  }

  onFrame(seen: SeenFrame): void {
    const { frame } = seen;
    switch (frame.kind) {
      case "GATEWAY_EXECUTOR_REQUEST":
        if (!this.#storedBefore.has(frame.requestId)) {
          const sent = storedStepsOf(frame.requestPayload);
          this.#storedBefore.set(frame.requestId, new Set([...sent, ...this.#stored]));
        }
        return;
      case "WORKER_CHECKPOINT":
        return this.#reported(seen, frame.requestId, frame.sequence);
      case "WORKER_REPLY":
        return this.#reported(seen, frame.requestId, 0);
      case "GATEWAY_CHECKPOINT_ACK":
        if (frame.outcome === "stored") this.#store(frame.requestId, frame.sequence);
        return;
      default:
        return;
    }
  }

  #reported(seen: SeenFrame, requestId: string, sequence: number): void {
    const ops = seen.ops().filter((op) => BODIES.has(op.op) && !isHandlerEnd(op));
    if (seen.commits()) this.#commits += 1;
    const isStored = ({ op }: Op): boolean => STORED.has(op);
    this.#pending.set(
      `${requestId}#${sequence}`,
      ops.filter(isStored).map(({ id }) => id),
    );
    for (const op of ops) {
      const { hash, name } = stepName(op);
      const attempt = op.attempt ?? 0;
      const key = `${requestId} ${hash} ${attempt}`;
      // What is sent twice ran once.
      if (this.#bodies.has(key)) continue;
      this.#bodies.set(key, {
        hash,
        name: name ?? hash,
        requestId,
        attempt,
        ordinal: op.ordinal ?? null,
        resultJson: JSON.stringify(op.error ?? op.data ?? null),
        hasFailed: op.op !== "StepRun" && op.op !== "Step",
        wasStored: this.#storedBefore.get(requestId)?.has(hash) ?? false,
      });
    }
  }

  #store(requestId: string, sequence: number): void {
    for (const hash of this.#pending.get(`${requestId}#${sequence}`) ?? []) this.#stored.add(hash);
  }
}

/** The results that a worker is sent with its work. */
function storedStepsOf(payload: Uint8Array): readonly string[] {
  try {
    const { steps } = JSON.parse(textOf(payload)) as { readonly steps?: unknown };
    if (!isRecord(steps)) return [];
    return Object.entries(steps).flatMap(([hash, entry]) => (isRecord(entry) && entry.type === "input" ? [] : [hash]));
  } catch {
    return [];
  }
}
