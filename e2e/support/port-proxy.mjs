/** A TCP proxy for any protocol: it can go away, come back, and be slow. */
import { connect, createServer } from "node:net";

/**
 * @typedef {Awaited<ReturnType<typeof startPortProxy>>} PortProxy
 */

/**
 * Passes on what a Postgres server says, but for notifications: as if there were none.
 * @returns {(piece: Buffer) => Buffer}
 */
function withoutNotifications() {
  let kept = Buffer.alloc(0);
  return (piece) => {
    kept = Buffer.concat([kept, piece]);
    const passed = [];
    while (kept.length >= 5) {
      const length = 1 + kept.readInt32BE(1);
      if (kept.length < length) break;
      // "A" is NotificationResponse.
      if (kept[0] !== 0x41) passed.push(kept.subarray(0, length));
      kept = kept.subarray(length);
    }
    return Buffer.concat(passed);
  };
}

/**
 * @param {number} target port on 127.0.0.1
 * @param {{ notifications?: boolean }} [options] notifications: false keeps those of a Postgres server back
 */
export async function startPortProxy(target, { notifications = true } = {}) {
  /** @type {Set<import("node:net").Socket>} */
  const open = new Set();
  let delayMs = 0;
  let upstreamPort = target;

  /**
   * Passes bytes on, each piece `delayMs` after it came, in order.
   * @param {import("node:net").Socket} from
   * @param {import("node:net").Socket} to
   * @param {(piece: Buffer) => Buffer} [change]
   */
  const pass = (from, to, change = (piece) => piece) => {
    from.on("data", (given) => {
      const piece = change(given);
      if (delayMs === 0) to.write(piece);
      else setTimeout(() => to.write(piece), delayMs);
    });
    from.on("error", () => {});
    from.once("close", () => {
      open.delete(from);
      to.destroy();
    });
  };

  const accept = (/** @type {import("node:net").Socket} */ client) => {
    const upstream = connect({ host: "127.0.0.1", port: upstreamPort });
    for (const socket of [client, upstream]) open.add(socket.setNoDelay(true));
    pass(client, upstream);
    pass(upstream, client, notifications ? undefined : withoutNotifications());
  };

  let server = createServer(accept);
  const listen = (/** @type {number} */ port) =>
    new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  await listen(0);
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const stop = () =>
    new Promise((resolve) => {
      server.close(() => resolve(undefined));
      for (const socket of open) socket.destroy();
    });
  return {
    port,
    /** From now on every piece of an answer comes this much later. */
    slow: (/** @type {number} */ ms) => {
      delayMs = ms / 2;
    },
    /** New connections lead there. */
    retarget: (/** @type {number} */ port) => {
      upstreamPort = port;
    },
    /** Ends every connection and refuses new ones. */
    stop,
    /** Listens again. */
    start: () => {
      server = createServer(accept);
      return listen(port);
    },
  };
}
