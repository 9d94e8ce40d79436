/** A TCP proxy for any protocol: it can go away, come back, and be slow. */
import { connect, createServer } from "node:net";

/**
 * @typedef {Awaited<ReturnType<typeof startPortProxy>>} PortProxy
 */

/**
 * @param {number} target port on 127.0.0.1
 */
export async function startPortProxy(target) {
  /** @type {Set<import("node:net").Socket>} */
  const open = new Set();
  let delayMs = 0;

  /**
   * Passes bytes on, each piece `delayMs` after it came, in order.
   * @param {import("node:net").Socket} from
   * @param {import("node:net").Socket} to
   */
  const pass = (from, to) => {
    from.on("data", (piece) => {
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
    const upstream = connect({ host: "127.0.0.1", port: target });
    for (const socket of [client, upstream]) open.add(socket.setNoDelay(true));
    pass(client, upstream);
    pass(upstream, client);
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
    /** Ends every connection and refuses new ones. */
    stop,
    /** Listens again. */
    start: () => {
      server = createServer(accept);
      return listen(port);
    },
  };
}
