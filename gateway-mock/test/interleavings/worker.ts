import { createHash } from "node:crypto";
import { silentLog } from "@holdfast/core";
import { FAILURE_KEY } from "@holdfast/engine";
import { type ExecutorRequest, encodeJsonBytes, type GatewayFrame, type Op, parseJsonBytes } from "@holdfast/protocol";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import type { AttachedWorker, DispatcherFrame } from "../../src/dispatch/dispatcher-types.ts";

import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { did, op, plan } from "../server/harness.ts";
import { type Payload, replyOf } from "../server/raw-worker.ts";
import type { Interleaver } from "./interleaver.ts";

/** The first steps of a run, all at once; then `last`. */
export type StepId = "event" | "signal" | "child" | "sleep" | BodyId;
type BodyId = "body" | "more" | "undoable";

export interface Program {
  readonly steps: readonly StepId[];
  /** Waits that begin are told in a checkpoint, before the steps with bodies run. */
  readonly early: boolean;
  readonly signal: string;
}

export interface WorkerHooks {
  /** A request came; throws when it must not have. */
  given(request: ExecutorRequest, memo: Payload["steps"]): void;
  /** A step's body runs. */
  ran(runId: string, stepId: string): void;
}

const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex");
export const UNDO_KEY = sha1("holdfast/compensate:undoable");

const isBody = (id: StepId): id is BodyId => id === "body" || id === "more" || id === "undoable";

/** One worker: what an SDK does with a function of these steps, a frame at a time. */
export class Worker {
  readonly name: string;
  readonly #interleaver: Interleaver;
  readonly #program: Program;
  readonly #hooks: WorkerHooks;
  readonly #unacked = new Map<string, DispatcherFrame>();
  readonly #acks = new Map<string, (outcome: string) => void>();
  readonly #cancelled = new Set<string>();
  readonly #inPlace: boolean;
  #attached: AttachedWorker | null = null;
  #life = 0;
  #socket = 0;

  constructor(
    name: string,
    parts: { interleaver: Interleaver; program: Program; hooks: WorkerHooks; inPlace: boolean },
  ) {
    this.name = name;
    this.#interleaver = parts.interleaver;
    this.#program = parts.program;
    this.#hooks = parts.hooks;
    this.#inPlace = parts.inPlace;
  }

  /** Connects to a gateway, also when it was connected before: then it goes on with its work over the new socket. */
  connect(dispatcher: Dispatcher, apps: WorkerSession["apps"]): void {
    this.#socket += 1;
    const socket = this.#socket;
    const send = (frame: GatewayFrame): void => {
      if (socket === this.#socket) this.#receive(frame);
    };
    const session: WorkerSession = {
      id: `${this.name} ${socket}`,
      instanceId: `${this.name} ${this.#life}`,
      environment: "",
      functionIds: apps.flatMap(({ functions }) => functions.map(({ slug }) => slug)),
      apps,
      queues: null,
      partitions: [],
      capacity: 100,
      isLimited: false,
      extensions: new Set(this.#inPlace ? (["checkpoint"] as const) : []),
      heartbeatMs: 10_000,
      leaseMs: 3_600_000,
      extendLeaseMs: 60_000,
      seenMs: 0,
      congested: false,
      log: silentLog,
      send,
      setDrained: () => {},
      flush: () => {},
      sendWhenRoom: (make) => {
        const frame = make();
        if (frame) send(frame);
      },
    };
    this.#attached?.lost();
    this.#attached = dispatcher.attach(session, true);
    for (const frame of this.#unacked.values()) this.#attached.receive(frame);
  }

  /** It ends, and says so; what it was at is over. */
  die(): void {
    this.#life += 1;
    this.#socket += 1;
    this.#unacked.clear();
    this.#attached?.lost("shutdown");
    this.#attached = null;
  }

  #receive(frame: GatewayFrame): void {
    switch (frame.kind) {
      case "GATEWAY_CHECKPOINT_ACK":
        this.#unacked.delete(`${frame.requestId} ${frame.sequence}`);
        this.#acks.get(`${frame.requestId} ${frame.sequence}`)?.(frame.outcome);
        return;
      case "WORKER_REPLY_ACK":
        this.#unacked.delete(frame.requestId);
        return;
      case "GATEWAY_CANCEL":
        this.#cancelled.add(frame.requestId);
        return;
      case "GATEWAY_EXECUTOR_REQUEST":
        this.#hooks.given(frame, (parseJsonBytes(frame.requestPayload, "payload") as Payload).steps);
        void this.#work(frame, this.#life);
        return;
      default:
    }
  }

  #send(frame: DispatcherFrame): void {
    if (frame.kind === "WORKER_REPLY") this.#unacked.set(frame.requestId, frame);
    if (frame.kind === "WORKER_CHECKPOINT") this.#unacked.set(`${frame.requestId} ${frame.sequence}`, frame);
    this.#attached?.receive(frame);
  }

  async #work(request: ExecutorRequest, life: number): Promise<void> {
    const pass = new Pass(request, {
      turn: async (what) => {
        await this.#interleaver.turn(`${this.name}: ${what} of ${request.requestId.slice(-4)}`);
        // A worker hears of the cancellation, or it does not.
        const heard = this.#cancelled.has(request.requestId) && this.#interleaver.chance(0.5);
        if (heard || life !== this.#life) throw new Over();
      },
      send: (frame) => this.#send(frame),
      acked: (sequence) => new Promise((resolve) => this.#acks.set(`${request.requestId} ${sequence}`, resolve)),
      ran: (stepId) => this.#hooks.ran(request.runId, stepId),
    });
    try {
      if (request.functionSlug !== "shop-order") await pass.reply({ status: "DONE", value: { packed: true } });
      else if (this.#inPlace) await pass.inPlace(this.#program);
      else await pass.plain(this.#program);
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
  }
}

class Over extends Error {}

interface PassPorts {
  /** Resolves when it is this pass's turn; throws when it is over. */
  turn(what: string): Promise<void>;
  send(frame: DispatcherFrame): void;
  acked(sequence: number): Promise<string>;
  ran(stepId: string): void;
}

/** One request, worked on. */
class Pass {
  readonly #request: ExecutorRequest;
  readonly #ports: PassPorts;
  readonly #memo: Payload["steps"];
  readonly #attempt: Payload["ctx"];
  #sequence = 0;

  constructor(request: ExecutorRequest, ports: PassPorts) {
    this.#request = request;
    this.#ports = ports;
    const payload = parseJsonBytes(request.requestPayload, "payload") as Payload;
    this.#memo = payload.steps;
    this.#attempt = payload.ctx;
  }

  async inPlace(program: Program): Promise<void> {
    if (FAILURE_KEY in this.#memo) return this.#undo();
    const left = program.steps.filter((id) => !(id in this.#memo));
    const parked = left.filter((id) => !isBody(id)).map((id) => waitOp(id, program));
    if (parked.length > 0 && program.early) await this.#checkpoint(parked);
    for (const id of left.filter(isBody)) await this.#run(id);
    if (parked.length > 0) return this.reply({ value: parked });
    if (!("last" in this.#memo)) await this.#run("last");
    await this.reply({ status: "DONE", value: this.#memo });
  }

  async plain(program: Program): Promise<void> {
    const { stepId } = this.#request;
    if (stepId && stepId !== "step") return this.#body(stepId);
    if (FAILURE_KEY in this.#memo) return this.#undo();
    const left = program.steps.filter((id) => !(id in this.#memo));
    const [only] = left;
    const mayRun = left.length === 1 && !this.#attempt.disable_immediate_execution;
    if (only && isBody(only) && mayRun) return this.#body(only);
    if (only) return this.reply({ value: left.map((id) => (isBody(id) ? plan(id) : waitOp(id, program))) });
    if (!("last" in this.#memo)) return this.#body("last");
    await this.reply({ status: "DONE", value: this.#memo });
  }

  async reply(answer: {
    readonly status?: "DONE";
    readonly noRetry?: boolean;
    readonly value: unknown;
  }): Promise<void> {
    await this.#ports.turn("reply");
    this.#ports.send({ kind: "WORKER_REPLY", ...replyOf(this.#request, answer) });
  }

  async #undo(): Promise<void> {
    const undone = UNDO_KEY in this.#memo;
    if (!undone && this.#sequence === 0) {
      await this.#ports.turn("undo");
      this.#ports.ran(UNDO_KEY);
      return this.reply({ value: [did(UNDO_KEY, null)] });
    }
    const { data } = this.#memo[FAILURE_KEY] as { data: { error: object } };
    const compensation = { undone: ["undoable"], failed: [], notRun: [] };
    await this.reply({ status: "DONE", noRetry: true, value: { ...data.error, compensation } });
  }

  async #run(id: string): Promise<void> {
    await this.#ports.turn(`body ${id}`);
    this.#ports.ran(id);
    await this.#checkpoint([finished(id)]);
  }

  async #body(id: string): Promise<void> {
    await this.#ports.turn(`body ${id}`);
    this.#ports.ran(id);
    await this.reply({ value: [finished(id)] });
  }

  /** The pass goes on once it is stored; else it is another worker's. */
  async #checkpoint(ops: readonly object[]): Promise<void> {
    await this.#ports.turn("checkpoint");
    const { requestId, runId, leaseId } = this.#request;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const outcome = this.#ports.acked(sequence);
    this.#ports.send({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence, ops: encodeJsonBytes(ops) });
    const got = await outcome;
    if (got === "invalid") throw new Error(`A checkpoint of ${JSON.stringify(ops)} was found invalid.`);
    if (got !== "stored") throw new Over();
  }
}

const finished = (id: string): object =>
  id === "undoable" ? op("StepRun", id, { data: id, userland: { id }, opts: { compensate: true } }) : did(id);

function waitOp(id: Exclude<StepId, BodyId>, { signal }: Program): Op {
  const made = (): object => {
    switch (id) {
      case "event":
        return op("WaitForEvent", id, { name: "shop/paid", opts: { timeout: "10m", if: "async.data.counts == true" } });
      case "signal":
        return op("WaitForSignal", id, { name: signal, opts: { signal, timeout: "10m", conflict: "fail" } });
      case "child":
        return op("InvokeFunction", id, { opts: { function_id: "shop-pack", payload: { data: {} }, timeout: "10m" } });
      case "sleep":
        return op("Sleep", id, { name: "10m" });
    }
  };
  return made() as Op;
}
