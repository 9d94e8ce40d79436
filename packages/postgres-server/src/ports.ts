import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { HoldfastError } from "@holdfast/core";

/**
 * Below the range from which systems take the local ports of outgoing connections: a server that restarts finds its
 * port free.
 */
const FIRST_PORT = 15_000;
const LAST_PORT = 31_999;
const MAX_TRIES = 200;

/** A port on 127.0.0.1 that nothing listens on at this moment. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFreePort(port)) return port;
  }
  throw new HoldfastError("PORT_BUSY", `No free port was found on 127.0.0.1 between ${FIRST_PORT} and ${LAST_PORT}.`);
}

export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
