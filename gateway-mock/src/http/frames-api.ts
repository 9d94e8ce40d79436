/** The route that follows the conversation of a worker's connection, as Server-Sent Events. */
import { HoldfastError, type Timers } from "@holdfast/core";
import { environmentOf, type ListedConnection } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import type { Conversations } from "../faults/conversations.ts";
import type { FrameView } from "../faults/frame-view.ts";
import { DIRECTIONS, type Direction } from "../faults/rules/fault-rule.ts";
import { notFound } from "./errors.ts";
import { answerEvents, type EventStream, messageText } from "./event-stream.ts";
import { isoTime } from "./iso-time.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

/** Frames that wait for a client that reads slowly; what is beyond is left out, and counted. */
const MAX_WAITING = 1_000;
/** Of one message. */
const MAX_AT_ONCE = 100;

const FOLLOW = describe({
  operationId: "followFrames",
  summary: "Follows the frames of a worker's connection live, decoded.",
  description:
    "Messages: `frames` (an array; each has `fault` where a fault changed it), `left-out` (how many frames a client that " +
    "reads slowly was not sent), `end` (the connection is gone). Only while it is followed is anything kept. Session tokens " +
    "are left out, long texts are cut.",
  tag: "workers",
  params: { id: "The id of a connection, or a worker's instance id." },
  query: Type.Object({
    kind: Type.Optional(Type.String({ description: "Only these kinds: `WORKER_REPLY,WORKER_CHECKPOINT`." })),
    direction: Type.Optional(Type.Enum([...DIRECTIONS])),
    function: Type.Optional(Type.String({ description: "Only frames about runs of this function: `shop-order`." })),
    run: Type.Optional(Type.String()),
    step: Type.Optional(Type.String()),
    changed: Type.Optional(Type.Enum(["true"], { description: "Only what a fault changed." })),
  }),
  answers: {
    200: {
      contentType: "text/event-stream",
      schema: Type.String({ description: "Messages `frames`, `left-out`, `end`; see docs/faults-on-request.md." }),
    },
  },
  failures: { 404: "No such worker is connected to this gateway.", 503: "Too many clients follow frames already." },
});

interface FrameFilter {
  readonly kinds: readonly string[];
  readonly direction: Direction | null;
  readonly functionId: string | null;
  readonly runId: string | null;
  readonly step: string | null;
  readonly isChanged: boolean;
}

export function framesApi(app: Hono, { store, conversations, timers, log, gatewayId }: HttpParts): void {
  app.get("/v1/workers/:id/frames", FOLLOW, async (c) => {
    const id = c.req.param("id");
    const { kind, direction, function: functionId, run, step, changed } = c.req.query();
    const filter: FrameFilter = {
      kinds: (kind ?? "").split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim().toUpperCase()])),
      direction: readDirection(direction),
      functionId: functionId ?? null,
      runId: run ?? null,
      step: step ?? null,
      isChanged: changed === "true",
    };
    const listed = await store.listConnections();
    const connection = findConnection(listed, c.get("environment"), id, gatewayId);
    if (conversations.isFull) {
      throw new HoldfastError("WATCHERS_FULL", "As many follow connections of this gateway as may: close one of them.");
    }
    const open = (): EventStream => streamOfFrames(conversations, timers, connection, filter);
    return answerEvents(c, open, {
      timers,
      onSlow: () => log("debug", "A stream of frames was ended: its client has read nothing for a minute."),
    });
  });
}

function findConnection(
  listed: readonly ListedConnection[],
  environment: string,
  id: string,
  gatewayId: string,
): string {
  const here = listed.filter(({ appIds }) => environmentOf(appIds[0] ?? "") === environment);
  const named = here.filter((one) => one.id === id || one.instanceId === id);
  const ours = named.findLast((one) => one.gatewayId === gatewayId);
  if (ours) return ours.id;
  const [elsewhere] = named;
  if (elsewhere) {
    throw notFound(`This worker is connected to the gateway ${elsewhere.gatewayId}: its frames can be followed there.`);
  }
  throw notFound(`No worker ${JSON.stringify(id.slice(0, 80))} is connected. GET /v1/workers lists those that are.`);
}

function readDirection(text: string | undefined): Direction | null {
  if (text === undefined || text === "") return null;
  const found = DIRECTIONS.find((one) => one === text);
  if (found) return found;
  throw new HoldfastError("BODY_INVALID", `\`direction\` must be ${DIRECTIONS.join(" or ")}.`);
}

const passes =
  ({ kinds, direction, functionId, runId, step, isChanged }: FrameFilter) =>
  (frame: FrameView): boolean =>
    (kinds.length === 0 || kinds.includes(frame.kind)) &&
    (direction === null || frame.direction === direction) &&
    (functionId === null || frame.functionId === functionId) &&
    (runId === null || frame.runId === runId) &&
    (step === null || frame.steps.includes(step)) &&
    (!isChanged || frame.fault !== null);

function streamOfFrames(
  conversations: Conversations,
  timers: Timers,
  connectionId: string,
  filter: FrameFilter,
): EventStream {
  const wanted = passes(filter);
  let waiting: FrameView[] = [];
  let leftOut = 0;
  let isOver = false;
  let wake = (): void => {};
  const { earlier, stop } = conversations.watch(connectionId, (frame) => {
    if (frame === null) return wake();
    if (!wanted(frame)) return;
    if (waiting.length < MAX_WAITING) waiting.push(frame);
    else leftOut += 1;
    wake();
  });
  waiting = [...earlier.filter(wanted), ...waiting];
  const end = (): void => {
    isOver = true;
    stop();
    wake();
  };
  const texts = async function* (): AsyncGenerator<string, void> {
    try {
      // Who follows sees at once that it does.
      yield framesText([]);
      while (!isOver) {
        if (waiting.length === 0) await something(timers, (resolve) => (wake = resolve));
        wake = () => {};
        const some = waiting.splice(0, MAX_AT_ONCE);
        const missed = leftOut;
        leftOut = 0;
        if (some.length > 0) yield framesText(some);
        if (missed > 0) yield messageText({ event: "left-out", data: { count: missed } });
        if (some.length > 0 || missed > 0) continue;
        if (!conversations.isOpen(connectionId)) return yield messageText({ event: "end", data: { connectionId } });
        yield ": still here\n\n";
      }
    } finally {
      stop();
    }
  };
  return { texts: texts(), end };
}

const HEARTBEAT_MS = 15_000;

/** A frame, or time for a sign of life, whichever comes first. */
async function something(timers: Timers, onWake: (wake: () => void) => void): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = timers.set(HEARTBEAT_MS, resolve, { unref: true });
    onWake(() => {
      timer.cancel();
      resolve();
    });
  });
}

const framesText = (frames: readonly FrameView[]): string =>
  messageText({ event: "frames", data: { frames: frames.map((one) => ({ ...one, at: isoTime(one.atMs) })) } });
