import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import { closeServer, listen } from "../../src/http/listen.ts";

const AT_ONCE = 1_000;
/** Of connections in `/proc/net/tcp`. */
const ESTABLISHED = "01";

/** Connections to a local port whose handshake the kernel has completed. */
function establishedTo(port: number): number {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return rows.filter((row) => {
    const [, , address = "", state] = row.trim().split(/\s+/);
    return address.endsWith(remote) && state === ESTABLISHED;
  }).length;
}

/** How many of those that come in one turn of the loop are taken before the server has had a turn. */
async function takenAtOnce(port: number): Promise<number> {
  const sockets: Socket[] = [];
  for (let n = 0; n < AT_ONCE; n += 1) sockets.push(connect(port, "127.0.0.1").on("error", () => {}));
  // They begin in this turn.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const taken = establishedTo(port);
  for (const socket of sockets) socket.destroy();
  return taken;
}

/** As many as this machine's kernel allows. */
async function takenByKernel(): Promise<number> {
  const server: Server = createServer((socket) => socket.destroy()).listen({
    port: 0,
    host: "127.0.0.1",
    backlog: AT_ONCE,
  });
  await once(server, "listening");
  try {
    return await takenAtOnce((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

test.runIf(process.platform === "linux")(
  "a thousand connections at once are taken while the gateway is busy",
  async () => {
    const { server, port } = await listen("127.0.0.1", 0, "--port");
    try {
      expect(await takenAtOnce(port)).toBeGreaterThanOrEqual(await takenByKernel());
    } finally {
      await closeServer(server);
    }
  },
);

test("until the gateway is ready, what it answers says so", async () => {
  const { server, port } = await listen("127.0.0.1", 0, "--port");
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/runs`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await answer.json()).toMatchObject({ code: "GATEWAY_STARTING", status: 503 });
  } finally {
    await closeServer(server);
  }
});

test("an address that cannot be listened on is refused with what to do about it", async () => {
  // 192.0.2.0/24 is for documentation (RFC 5737): no machine has an address of it.
  await expect(listen("192.0.2.1", 0, "--port")).rejects.toThrow(
    /cannot listen on 192\.0\.2\.1:0 .*name one that it has with --host/,
  );
});

test.each([
  [
    "a gateway",
    { ok: true, version: "1.0.0", database: { ok: true } },
    "a Holdfast gateway that runs there already; use that one, stop it, or",
  ],
  [
    "a gateway that starts",
    { error: "The gateway is starting.", code: "GATEWAY_STARTING" },
    "a Holdfast gateway that runs there already",
  ],
  ["another program", { ok: true }, "another program; stop it, or choose another port with --port (0 = any free one)."],
])("a port that is in use says by what: %s", async (_, health, by) => {
  const other = createHttpServer((_request, response) => void response.end(JSON.stringify(health)));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  try {
    await expect(listen("127.0.0.1", port, "--port")).rejects.toMatchObject({
      code: "PORT_BUSY",
      message: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use by ${by}`),
    });
  } finally {
    await closeServer(other);
  }
});
