/** The proxy of `@holdfast/testing` between an app and its gateway, with what the tests and the demo ask of it. */
import { startProxy } from "@holdfast/testing";
import { LIMIT_MS } from "./limits.mjs";

/**
 * @typedef {import("@holdfast/testing").TappedFrame} TappedFrame
 * @typedef {Awaited<ReturnType<typeof openTap>>} Tap
 * @typedef {NonNullable<TappedFrame["frame"]>} Frame
 */

const lookEveryMs = 25;

/** @param {string} target base URL of the gateway */
export async function openTap(target) {
  const proxy = await startProxy({ target });
  return {
    /** Base URL for the app. */
    url: proxy.url,
    /** Every frame so far, both ways. */
    get frames() {
      return proxy.frames;
    },
    /** Every HTTP request so far. */
    get requests() {
      return proxy.requests;
    },
    /** How many times a worker introduced itself. */
    get connections() {
      return proxy.framesOf("WORKER_CONNECT").length;
    },
    /**
     * Frames of one kind, with what is in them.
     * @template {Frame["kind"]} Kind
     * @param {Kind} kind
     */
    of: (kind) => proxy.framesOf(kind).map((tapped) => narrow(tapped, kind)),
    /**
     * Requests whose lease was refused while a worker had them. An extension that crosses the request's own reply is
     * refused as well, as there is nothing left to extend.
     */
    get leasesLost() {
      const replied = new Set();
      const lost = [];
      for (const { frame } of proxy.frames) {
        if (frame?.kind === "WORKER_REPLY") replied.add(frame.requestId);
        if (frame?.kind !== "WORKER_REQUEST_EXTEND_LEASE_ACK" || frame.newLeaseId !== undefined) continue;
        if (!replied.has(frame.requestId)) lost.push(frame.requestId);
      }
      return lost;
    },
    /**
     * The next frame of a kind, from now on.
     * @template {Frame["kind"]} Kind
     * @param {Kind} kind
     */
    next: async (kind) =>
      narrow(await proxy.waitForFrame(kind, { since: proxy.frames.length, timeoutMs: LIMIT_MS }), kind),
    /**
     * Calls back for every frame from now on, soon after it passed.
     * @param {(frame: Frame) => void} listener
     * @returns {() => void} ends it
     */
    onFrame: (listener) => {
      let seen = proxy.frames.length;
      const look = () => {
        for (const { frame } of proxy.frames.slice(seen)) if (frame !== undefined) listener(frame);
        seen = proxy.frames.length;
      };
      const timer = setInterval(look, lookEveryMs);
      return () => {
        clearInterval(timer);
        look();
      };
    },
    /**
     * Frames of kinds that match arrive twice from now on, `count` of them or all.
     * @param {(kind: Frame["kind"]) => boolean} matches
     * @param {number} [count]
     */
    duplicate: (matches, count = Number.POSITIVE_INFINITY) =>
      proxy.duplicateFrames(({ frame }) => frame !== undefined && matches(frame.kind), { count }),
    /** Resets every connection and listens no more; `start` listens again, on the same port. */
    stop: () => proxy.stop(),
    start: () => proxy.start(),
  };
}

/**
 * @template {Frame["kind"]} Kind
 * @param {TappedFrame} tapped
 * @param {Kind} _kind
 */
function narrow(tapped, _kind) {
  const frame = /** @type {Extract<Frame, { kind: Kind }>} */ (tapped.frame);
  return { at: tapped.at, connection: tapped.connection, frame };
}
