import { connect as connectTcp, createServer, type Socket } from "node:net";

/** Statements that a gateway sends to Postgres, by their text, as a proxy between the two sees them. */
export interface StatementCounter {
  /** URL for the gateway. */
  readonly url: string;
  /** Forgets what was counted. */
  reset(): void;
  /** How often each statement was carried out since the last reset. */
  counts(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  const counts = new Map<string, number>();
  const open = new Set<Socket>();
  const count = (text: string): void => void counts.set(text, (counts.get(text) ?? 0) + 1);
  const server = createServer((client) => {
    const upstream = connectTcp({ host: target.hostname, port: Number(target.port) });
    const read = reader(count);
    for (const socket of [client, upstream]) {
      open.add(socket.setNoDelay(true));
      socket.on("error", () => {});
      socket.once("close", () => open.delete(socket));
    }
    client.on("data", read);
    client.pipe(upstream).pipe(client);
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    reset: () => counts.clear(),
    counts: () => new Map(counts),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/**
 * Reads a client's side of Postgres' protocol: `P`arse gives a name to a text, `B`ind carries it out, `Q` carries a text
 * out. The first message has no type.
 */
function reader(count: (text: string) => void): (bytes: Buffer) => void {
  const named = new Map<string, string>();
  let kept = Buffer.alloc(0);
  let started = false;
  const cString = (message: Buffer, from: number): { text: string; end: number } => {
    const end = message.indexOf(0, from);
    return { text: message.toString("utf8", from, end), end: end + 1 };
  };
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    for (;;) {
      const head = started ? 1 : 0;
      if (kept.length < head + 4) return;
      const length = head + kept.readInt32BE(head);
      if (kept.length < length) return;
      const message = kept.subarray(0, length);
      kept = kept.subarray(length);
      const type = started ? String.fromCharCode(message[0] ?? 0) : "";
      started = true;
      if (type === "P") {
        const name = cString(message, 5);
        named.set(name.text, cString(message, name.end).text);
      } else if (type === "B") {
        const name = cString(message, cString(message, 5).end);
        count(named.get(name.text) ?? "?");
      } else if (type === "Q") count(cString(message, 5).text);
    }
  };
}
