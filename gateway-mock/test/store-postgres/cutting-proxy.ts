import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

type Direction = "toServer" | "toClient";

/** Stands between a store and its server, and cuts the connection at a chosen place of the conversation. */
export interface CuttingProxy {
  readonly url: string;
  /**
   * Cuts the next connection whose bytes in that direction hold `text`; those bytes are not passed on. `times` = how
   * often, default once.
   */
  cutAt(direction: Direction, text: string, times?: number): void;
  readonly cuts: number;
  /** Refuses connections and cuts those there are, until called again with false. */
  down(isDown: boolean): void;
  /** Takes new connections, and answers nothing on them; those there are go on. */
  hang(isHung: boolean): void;
  /** How many of those were given up by who had asked for them. */
  readonly givenUp: number;
  /** New connections lead to this server from now on. */
  leadTo(databaseUrl: string): void;
  close(): Promise<void>;
}

export async function openCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let trap: { direction: Direction; text: string; times: number } | null = null;
  let cuts = 0;
  let isDown = false;
  let isHung = false;
  let givenUp = 0;

  const sprung = (direction: Direction, chunk: Buffer): boolean => {
    if (!trap || trap.direction !== direction || !chunk.includes(trap.text)) return false;
    trap.times -= 1;
    if (trap.times === 0) trap = null;
    cuts += 1;
    return true;
  };

  const server = createServer((client) => {
    if (isDown) return void client.destroy();
    if (isHung) {
      sockets.add(client);
      client.on("error", () => {});
      client.on("data", () => {});
      client.on("close", () => {
        sockets.delete(client);
        givenUp += 1;
      });
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on("data", (chunk) => (sprung("toServer", chunk) ? cut() : upstream.write(chunk)));
    upstream.on("data", (chunk) => (sprung("toClient", chunk) ? cut() : client.write(chunk)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cutAt(direction, text, times = 1) {
      trap = { direction, text, times };
    },
    get cuts() {
      return cuts;
    },
    hang(value) {
      isHung = value;
    },
    get givenUp() {
      return givenUp;
    },
    leadTo(other) {
      target = new URL(other);
    },
    down(value) {
      isDown = value;
      if (value) dropAll();
    },
    async close() {
      dropAll();
      server.close();
      await once(server, "close");
    },
  };
}
