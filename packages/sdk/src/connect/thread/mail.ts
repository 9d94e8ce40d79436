import { type Clock, type Log, type TimerHandle, type Timers, unreachable } from "@holdfast/core";
import { encodeWorkerFrame, wrapReply } from "@holdfast/protocol";
import { createOutbox, type Outbox, type OutboxAction, type Parcel } from "../core/outbox.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { Flights } from "./flights.ts";
import type { GatewayHttp } from "./gateway-http.ts";

export interface MailDeps {
  readonly config: SerializableConfig;
  readonly http: Pick<GatewayHttp, "flush">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly flights: Flights;
  readonly send: (bytes: Uint8Array) => boolean;
  /** The gateway has the reply, by whichever way. */
  readonly onDelivered: (requestId: string) => void;
}

/** Brings replies and checkpoints to the gateway, over the socket or by HTTP, until each is acknowledged. */
export interface Mail {
  readonly count: number;
  readonly bytes: number;
  readonly full: boolean;
  addReply(requestId: string, response: Uint8Array): void;
  addCheckpoint(requestId: string, sequence: number, ops: Uint8Array): void;
  settleReply(requestId: string): boolean;
  settleCheckpoint(requestId: string, sequence: number): boolean;
  /** Forgets everything about a request. */
  withdraw(requestId: string): void;
  checkpoints(): readonly { readonly requestId: string; readonly sequence: number }[];
  undelivered(): readonly string[];
  linkUp(): void;
  linkDown(): void;
  /** From now on nothing waits for a link that is not there. */
  hurry(): void;
  stop(): void;
}

interface Letter {
  readonly requestId: string;
  readonly sequence: number | null;
  readonly bytes: Uint8Array;
}

const replyKey = (requestId: string): string => `reply ${requestId}`;
const checkpointKey = (requestId: string, sequence: number): string => `checkpoint ${sequence} ${requestId}`;

export function createMail(deps: MailDeps): Mail {
  const { config, http, clock, timers, log, flights } = deps;
  const outbox: Outbox = createOutbox(config.outbox);
  const letters = new Map<string, Letter>();
  let alarm: TimerHandle | undefined;
  let urgent = false;
  let stopped = false;
  let wasFull = false;

  const now = (): number => clock.monotonicMs();

  const flush = async (parcel: Parcel): Promise<void> => {
    const letter = letters.get(parcel.key);
    if (letter === undefined) return;
    const result = await http.flush(letter.bytes);
    if (stopped || !outbox.has(parcel.key)) return;
    if (result.ok) {
      deps.onDelivered(parcel.requestId);
      return;
    }
    log("warn", `A reply could not be flushed, it is tried again: ${result.message}`, {
      code: "FLUSH_FAILED",
      requestId: parcel.requestId,
    });
    outbox.flushFailed(parcel.key, now());
    arm();
  };

  const carryOut = (actions: readonly OutboxAction[]): void => {
    for (const { do: what, parcel } of actions) {
      const letter = letters.get(parcel.key);
      if (letter === undefined) continue;
      switch (what) {
        case "SEND":
          deps.send(encode(letter));
          break;
        case "FLUSH":
          void flush(parcel);
          break;
        default:
          unreachable(what);
      }
    }
    arm();
  };

  const encode = ({ requestId, sequence, bytes }: Letter): Uint8Array => {
    if (sequence === null) return wrapReply(bytes);
    return encodeWorkerFrame({
      kind: "WORKER_CHECKPOINT",
      requestId,
      runId: flights.get(requestId)?.identity.runId ?? "",
      leaseId: flights.leases.get(requestId)?.leaseId ?? "",
      sequence,
      ops: bytes,
    });
  };

  /** One timer, for the oldest deadline; it is left alone when that one is settled meanwhile. */
  const arm = (): void => {
    const dueMs = outbox.nextDueMs();
    if (alarm !== undefined || dueMs === null || stopped) return;
    alarm = timers.set(Math.max(1, dueMs - now()), () => {
      alarm = undefined;
      carryOut(outbox.due(now(), urgent));
    });
  };

  const add = (key: string, kind: Parcel["kind"], letter: Letter): void => {
    letters.set(key, letter);
    const { requestId, bytes } = letter;
    carryOut(outbox.add({ key, requestId, kind, bytes: bytes.byteLength }, now()));
    if (urgent) carryOut(outbox.due(now(), true));
    if (outbox.full && !wasFull) {
      wasFull = true;
      log(
        "warn",
        `${outbox.count} replies (${outbox.bytes} bytes) wait for an acknowledgement; no new work is taken.`,
        {
          code: "OUTBOX_FULL",
        },
      );
    }
  };

  const settle = (key: string): boolean => {
    const settled = outbox.settle(key) !== undefined;
    letters.delete(key);
    if (!outbox.full) wasFull = false;
    return settled;
  };

  return {
    get count() {
      return outbox.count;
    },
    get bytes() {
      return outbox.bytes;
    },
    get full() {
      return outbox.full;
    },
    addReply: (requestId, response) =>
      add(replyKey(requestId), "reply", { requestId, sequence: null, bytes: response }),
    addCheckpoint: (requestId, sequence, ops) =>
      add(checkpointKey(requestId, sequence), "checkpoint", { requestId, sequence, bytes: ops }),
    settleReply: (requestId) => settle(replyKey(requestId)),
    settleCheckpoint: (requestId, sequence) => settle(checkpointKey(requestId, sequence)),
    withdraw: (requestId) => {
      settle(replyKey(requestId));
      for (const letter of [...letters.values()]) {
        if (letter.requestId === requestId && letter.sequence !== null) {
          settle(checkpointKey(requestId, letter.sequence));
        }
      }
    },
    checkpoints: () =>
      [...letters.values()].flatMap(({ requestId, sequence }) => (sequence === null ? [] : [{ requestId, sequence }])),
    undelivered: () =>
      [...letters.values()].filter(({ sequence }) => sequence === null).map(({ requestId }) => requestId),
    linkUp: () => carryOut(outbox.linkUp(now())),
    linkDown: () => {
      outbox.linkDown(now());
      if (urgent) carryOut(outbox.due(now(), true));
    },
    hurry: () => {
      urgent = true;
      carryOut(outbox.due(now(), true));
    },
    stop: () => {
      stopped = true;
      alarm?.cancel();
    },
  };
}
