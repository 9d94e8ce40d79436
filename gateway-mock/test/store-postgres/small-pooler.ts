/**
 * Stands between clients and one Postgres session as a pooler does. `transactions`: all clients share the session, and
 * each statement goes to it as it comes; `session`: each client has its own, under another number for cancelling. Both
 * refuse what PgBouncer refuses when a connection starts. It is none: it has no queue, and never gives a session back.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const LENGTH_BYTES = 4;
const BACKEND_KEY = "K".charCodeAt(0);
const READY = "Z".charCodeAt(0);
const AUTHENTICATION = "R".charCodeAt(0);
const TERMINATE = "X".charCodeAt(0);
const ERROR = "E";
/** What PgBouncer takes, without `ignore_startup_parameters`. */
const STARTUP_PARAMETERS = new Set([
  ...["user", "database", "application_name"],
  ...["client_encoding", "datestyle", "timezone", "standard_conforming_strings"],
]);

export interface SmallPooler {
  readonly url: string;
  close(): Promise<void>;
}

export async function openSmallPooler(databaseUrl: string, mode: "transactions" | "session"): Promise<SmallPooler> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let shared: { server: Socket; greeting: Buffer; asker: Socket } | null = null;

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };

  const openSession = (client: Socket): Socket => {
    const server = keep(connect(Number(target.port), target.hostname));
    let greeting = Buffer.alloc(0);
    let isGreeted = false;
    server.on("data", (chunk) => {
      const bytes = isGreeted ? chunk : renumbered(chunk);
      if (!isGreeted) {
        greeting = Buffer.concat([greeting, bytes]);
        isGreeted = messageTypes(bytes).includes(READY);
        if (isGreeted && mode === "transactions") shared = { server, greeting: welcomeIn(greeting), asker: client };
      }
      (shared?.server === server ? shared.asker : client).write(bytes);
    });
    if (mode === "session") {
      client.on("close", () => server.destroy());
      server.on("close", () => client.destroy());
    }
    return server;
  };

  const pooler = createServer((socket) => {
    const client = keep(socket);
    let server: Socket | null = null;
    let isStarted = false;
    client.on("data", (chunk) => {
      const refused = isStarted ? undefined : refusedParameter(chunk);
      isStarted = true;
      if (refused !== undefined) {
        client.end(errorResponse(`unsupported startup parameter: ${refused}`));
        return;
      }
      if (server === null && shared) {
        server = shared.server;
        client.write(shared.greeting);
        return;
      }
      server ??= openSession(client);
      if (shared && chunk[0] === TERMINATE) return;
      if (shared) shared.asker = client;
      server.write(chunk);
    });
  });
  pooler.listen(0, "127.0.0.1");
  await once(pooler, "listening");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((pooler.address() as AddressInfo).port);
  return {
    url: url.href,
    async close() {
      for (const socket of sockets) socket.destroy();
      pooler.close();
      await once(pooler, "close");
    },
  };
}

/** Of whole messages, as a server's answers to the small questions of these tests are. */
function messagesOf(bytes: Buffer): { type: number; at: number }[] {
  const messages: { type: number; at: number }[] = [];
  for (let at = 0; at + LENGTH_BYTES < bytes.length; at += 1 + bytes.readUInt32BE(at + 1)) {
    messages.push({ type: bytes[at] ?? 0, at });
  }
  return messages;
}

/** From "you are who you say" on: later clients are not asked for a password. */
function welcomeIn(greeting: Buffer): Buffer {
  const isWelcome = ({ type, at }: { type: number; at: number }): boolean =>
    type === AUTHENTICATION && greeting.readUInt32BE(at + 1 + LENGTH_BYTES) === 0;
  return greeting.subarray(messagesOf(greeting).find(isWelcome)?.at ?? 0);
}

const messageTypes = (bytes: Buffer): number[] => messagesOf(bytes).map(({ type }) => type);

/** As poolers do it, with a number for cancelling that is none of the server's. */
function renumbered(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (const { type, at } of messagesOf(copy)) if (type === BACKEND_KEY) copy.writeUInt32BE(1, at + 1 + LENGTH_BYTES);
  return copy;
}

/** Of a start packet: length, version, then names and values, each with a zero at its end. */
function refusedParameter(packet: Buffer): string | undefined {
  const texts = packet
    .subarray(2 * LENGTH_BYTES)
    .toString("utf8")
    .split("\0");
  const names = texts.filter((text, index) => index % 2 === 0 && text !== "");
  return names.find((name) => !STARTUP_PARAMETERS.has(name.toLowerCase()));
}

function errorResponse(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.alloc(1 + LENGTH_BYTES, ERROR);
  head.writeUInt32BE(LENGTH_BYTES + fields.length, 1);
  return Buffer.concat([head, fields]);
}
