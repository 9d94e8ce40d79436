/**
 * The least that a gateway could do: an event is stored and answered, goes to the worker over its socket, and what comes
 * back is stored and acknowledged. Two transactions of two statements each, no rules, nothing that survives a failure.
 */
import { createServer } from "node:http";
import postgres from "postgres";
import { WebSocketServer } from "ws";

const [databaseUrl = ""] = process.argv.slice(2);
const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
await sql`CREATE SCHEMA IF NOT EXISTS bare`;
await sql`CREATE TABLE IF NOT EXISTS bare.log (id text PRIMARY KEY, data text)`;
await sql`CREATE TABLE IF NOT EXISTS bare.runs (id text PRIMARY KEY, data text)`;

/** @type {import("ws").WebSocket | undefined} */
let worker;
let lastId = 0;

const server = createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    const event = JSON.parse(Buffer.concat(chunks).toString());
    lastId += 1;
    const id = `${process.pid}-${lastId}`;
    await sql.begin((own) => [
      own`INSERT INTO bare.log VALUES (${id}, ${JSON.stringify(event)})`,
      own`INSERT INTO bare.runs VALUES (${id}, 'PENDING')`,
    ]);
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ ids: [id] }));
    worker?.send(JSON.stringify({ id, event }));
  });
});

new WebSocketServer({ server }).on("connection", (socket) => {
  worker = socket;
  socket.on("message", async (message) => {
    const { id, output } = JSON.parse(String(message));
    await sql.begin((own) => [
      own`UPDATE bare.runs SET data = ${output} WHERE id = ${id}`,
      own`INSERT INTO bare.log VALUES (${`${id}-end`}, ${output})`,
    ]);
    socket.send(JSON.stringify({ stored: id }));
  });
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : null });
});
process.on("SIGTERM", () => process.exit());
