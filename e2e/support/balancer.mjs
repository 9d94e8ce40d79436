/** What stands in front of several gateways: passes each connection on to the next one that takes it. */
import { connect, createServer } from "node:net";

/**
 * @typedef {Awaited<ReturnType<typeof startBalancer>>} Balancer
 */

/**
 * @param {readonly number[]} ports of the gateways, on 127.0.0.1
 */
export async function startBalancer(ports) {
  /** @type {Set<import("node:net").Socket>} */
  const open = new Set();
  let turn = 0;

  const accept = (/** @type {import("node:net").Socket} */ client) => {
    open.add(client);
    client.on("error", () => {});
    client.once("close", () => open.delete(client));
    const first = turn++;
    const attempt = (/** @type {number} */ tried) => {
      if (tried === ports.length) {
        client.destroy();
        return;
      }
      const upstream = connect({ host: "127.0.0.1", port: ports[(first + tried) % ports.length] ?? 0 });
      upstream.once("error", () => (upstream.pending ? attempt(tried + 1) : client.destroy()));
      upstream.once("connect", () => {
        upstream.setNoDelay(true);
        client.pipe(upstream).pipe(client);
        client.once("close", () => upstream.destroy());
        upstream.once("close", () => client.destroy());
      });
    };
    client.setNoDelay(true);
    attempt(0);
  };

  const server = createServer(accept);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const socket of open) socket.destroy();
      }),
  };
}
