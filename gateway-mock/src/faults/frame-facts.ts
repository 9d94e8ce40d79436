/** What a frame is about: its request, function, run and steps. Read when it is asked for, and once. */
import { sha1Hex } from "@holdfast/engine";
import {
  type GatewayFrame,
  isRecord,
  type Op,
  parseOps,
  type UnknownFrame,
  type WorkerFrame,
} from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import type { AboutRequest, StepName } from "./rules/fault-book.ts";
import type { Direction } from "./rules/fault-rule.ts";

export type AnyFrame = WorkerFrame | GatewayFrame | UnknownFrame;

/** What is remembered of requests, so that frames that name only the request are about its function and run, too. */
const MAX_REMEMBERED = 5_000;

export interface KnownRequest {
  readonly functionId: string;
  readonly runId: string;
}

export type FindRequest = (requestId: string) => KnownRequest | undefined;

export class RequestNames {
  readonly #find: FindRequest;
  readonly #known = new Map<string, KnownRequest>();
  /** By request and checkpoint: what an acknowledgement is about. */
  readonly #steps = new Map<string, readonly StepName[]>();

  constructor(find: FindRequest) {
    this.#find = find;
  }

  /** Call it with each frame that comes by, in order. */
  note(frame: AnyFrame): void {
    if (frame.kind === "GATEWAY_EXECUTOR_REQUEST") {
      keep(this.#known, frame.requestId, { functionId: frame.functionSlug, runId: frame.runId });
    } else if (frame.kind === "WORKER_CHECKPOINT" || frame.kind === "WORKER_REPLY") {
      this.of(frame.requestId);
      const steps = opsOf(frame).map(stepName);
      keep(this.#steps, stepsKey(frame.requestId, frame.kind === "WORKER_REPLY" ? 0 : frame.sequence), steps);
    }
  }

  /** While it is in flight, or after it was seen. */
  of(requestId: string): KnownRequest | undefined {
    const known = this.#known.get(requestId);
    if (known) return known;
    const found = this.#find(requestId);
    const named = found && { functionId: plainName(found.functionId), runId: found.runId };
    if (named) keep(this.#known, requestId, named);
    return named;
  }

  stepsOf(requestId: string, sequence: number): readonly StepName[] {
    return this.#steps.get(stepsKey(requestId, sequence)) ?? [];
  }
}

const stepsKey = (requestId: string, sequence: number): string => `${requestId}#${sequence}`;

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** A frame that came by, with what it is about. */
export class SeenFrame implements AboutRequest {
  readonly frame: AnyFrame;
  readonly direction: Direction;
  readonly sizeBytes: number;
  readonly connection: AboutRequest["connection"];
  readonly #names: RequestNames;
  #ops: readonly Op[] | null = null;

  constructor(
    frame: AnyFrame,
    about: { direction: Direction; sizeBytes: number } & Pick<AboutRequest, "connection">,
    names: RequestNames,
  ) {
    this.frame = frame;
    this.direction = about.direction;
    this.sizeBytes = about.sizeBytes;
    this.connection = about.connection;
    this.#names = names;
  }

  get requestId(): string | null {
    return requestIdOf(this.frame);
  }

  /** What a reply or a checkpoint reports. */
  ops(): readonly Op[] {
    this.#ops ??= opsOf(this.frame);
    return this.#ops;
  }

  functionId(): string | null {
    if ("functionSlug" in this.frame && this.frame.functionSlug !== "") return this.frame.functionSlug;
    return this.#known()?.functionId ?? null;
  }

  runId(): string | null {
    if ("runId" in this.frame && this.frame.runId !== "") return this.frame.runId;
    return this.#known()?.runId ?? null;
  }

  steps(): readonly StepName[] {
    const { frame } = this;
    switch (frame.kind) {
      case "WORKER_CHECKPOINT":
      case "WORKER_REPLY":
        return this.ops().map(stepName);
      case "GATEWAY_CHECKPOINT_ACK":
        return this.#names.stepsOf(frame.requestId, frame.sequence);
      case "WORKER_REPLY_ACK":
        return this.#names.stepsOf(frame.requestId, 0);
      case "GATEWAY_EXECUTOR_REQUEST":
      case "WORKER_REQUEST_ACK":
        return frame.stepId === "step" || frame.stepId === "" ? [] : [{ hash: frame.stepId, name: null }];
      case "WORKER_STALL":
        return frame.stepId === "" ? [] : [{ hash: sha1Hex(frame.stepId), name: frame.stepId }];
      default:
        return [];
    }
  }

  commits(): boolean {
    return this.frame.kind === "WORKER_REPLY" || (this.frame.kind === "WORKER_CHECKPOINT" && this.ops().length > 0);
  }

  #known(): KnownRequest | undefined {
    const { requestId } = this;
    return requestId === null ? undefined : this.#names.of(requestId);
  }
}

export function requestIdOf(frame: AnyFrame): string | null {
  return "requestId" in frame && frame.requestId !== "" ? frame.requestId : null;
}

/** `id:1` for a repeat, as the author would name it. */
export function stepName({ id, displayName, name, userland }: Op): StepName {
  const own = userland?.id ?? displayName ?? name ?? null;
  const index = userland?.index ?? 0;
  return { hash: id, name: own !== null && index > 0 && userland ? `${own}:${index}` : own };
}

/** None where they cannot be read: the gateway itself says so then. */
function opsOf(frame: AnyFrame): readonly Op[] {
  try {
    if (frame.kind === "WORKER_CHECKPOINT") return parseOps(JSON.parse(textOf(frame.ops)), "ops");
    if (frame.kind !== "WORKER_REPLY" || frame.status !== "NOT_COMPLETED") return [];
    const body: unknown = JSON.parse(textOf(frame.body));
    const list = Array.isArray(body) ? body : isRecord(body) && typeof body.op === "string" ? [body] : [];
    return parseOps(list, "body");
  } catch {
    return [];
  }
}

export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
