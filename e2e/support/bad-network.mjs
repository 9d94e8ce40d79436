/** A TCP proxy in front of several gateways that can do to connections what networks do. */
import { connect, createServer } from "node:net";

/** @typedef {import("node:net").Socket} Socket */
/** @typedef {"up" | "down"} Direction from the apps to the gateways, or back */
/** @typedef {Awaited<ReturnType<typeof startBadNetwork>>} BadNetwork */

/** A connection of an app, with its way to a gateway. */
class Pair {
  /** @type {Socket} */
  client;
  /** @type {Socket} */
  gateway;
  /** Bytes that are sent this way are lost, and nothing reports it. @type {Set<Direction>} */
  lost = new Set();
  delayMs = 0;

  /**
   * @param {Socket} client
   * @param {Socket} gateway
   */
  constructor(client, gateway) {
    this.client = client;
    this.gateway = gateway;
    this.#pass("up", client, gateway);
    this.#pass("down", gateway, client);
  }

  destroy() {
    this.client.destroy();
    this.gateway.destroy();
  }

  /**
   * @param {Direction} direction
   * @param {Socket} from
   * @param {Socket} to
   */
  #pass(direction, from, to) {
    from.on("data", (piece) => {
      if (this.lost.has(direction)) return;
      if (this.delayMs === 0) to.write(piece);
      else setTimeout(() => to.write(piece), this.delayMs);
    });
    from.on("error", () => {});
    // A connection that lost its way is not closed on the other side either.
    from.once("close", () => {
      if (this.lost.size === 0) to.destroy();
    });
  }
}

/**
 * @param {readonly number[]} ports of the gateways, on 127.0.0.1
 * @param {() => number} random decides where a connection goes
 */
export async function startBadNetwork(ports, random) {
  /** @type {Set<Pair>} */
  const open = new Set();
  let refuses = false;

  const accept = (/** @type {Socket} */ client) => {
    client.on("error", () => {});
    if (refuses) return void client.destroy();
    const first = Math.floor(random() * ports.length);
    const attempt = (/** @type {number} */ tried) => {
      if (tried === ports.length || client.destroyed) return void client.destroy();
      const gateway = connect({ host: "127.0.0.1", port: ports[(first + tried) % ports.length] ?? 0 });
      gateway.once("error", () => (gateway.pending ? attempt(tried + 1) : client.destroy()));
      gateway.once("connect", () => {
        const pair = new Pair(client.setNoDelay(true), gateway.setNoDelay(true));
        open.add(pair);
        gateway.once("close", () => open.delete(pair));
      });
    };
    attempt(0);
  };
  const server = createServer(accept);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    url: `http://127.0.0.1:${port}`,
    /** Bytes of every connection there is are lost from now on. @param {readonly Direction[]} directions */
    lose: (directions) => {
      for (const { lost } of open) for (const direction of directions) lost.add(direction);
    },
    /** Every piece of the connections there are comes this much later. @param {number} ms */
    slow: (ms) => {
      for (const pair of open) pair.delayMs = ms;
    },
    /** New connections are closed at once, or no longer. @param {boolean} on */
    refuse: (on) => {
      refuses = on;
    },
    /** Every connection ends, on both sides. */
    cut: () => {
      for (const pair of open) pair.destroy();
    },
    /** @returns {Promise<void>} */
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const pair of open) pair.destroy();
      }),
  };
}
