import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { waitFor } from "@holdfast/testing";
import { getRequestListener } from "@hono/node-server";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { metrics, SIGNING_KEY, useGateway } from "../server/harness.ts";

const bench = useGateway();
const MIB = 1024 * 1024;
const PART = Buffer.alloc(MIB, "x");

/** A client that goes on writing whatever it is told, as most do. */
class Stubborn {
  readonly socket: Socket;
  text = "";
  error: string | undefined;

  constructor(gateway: Gateway) {
    this.socket = connect(gateway.port, "127.0.0.1");
    this.socket.on("data", (data) => {
      this.text += data.toString("latin1");
    });
    this.socket.on("error", (error) => {
      this.error = error.message;
    });
  }

  head(line: string, headers: readonly string[]): void {
    this.socket.write([line, "Host: localhost", ...headers, "", ""].join("\r\n"));
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  async ended(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, "close");
  }

  statuses(): string[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = ""]) => status);
  }

  async answered(count: number): Promise<string[]> {
    await waitFor(() => this.statuses().length >= count || this.error !== undefined, {
      what: `${count} answers`,
      context: async () => `${this.text} ${this.error}`,
    });
    return this.statuses();
  }
}

/** A server that leaves unread bodies to the library, up to the end of a connection whose body does not come. */
async function endedByLibrary(): Promise<void> {
  const server = createServer(getRequestListener(() => new Response(null, { status: 413 })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume().write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n");
    await once(socket, "close");
  } finally {
    server.close();
  }
}

describe("Rejected request bodies", () => {
  test.each([
    ["too large", "/e/the-event-key", [], "413"],
    ["for the wrong event key", "/e/wrong", [], "401"],
    ["without the signing key", "/v0/connect/flush", [], "401"],
    ["of a page elsewhere", "/e/the-event-key", ["Origin: https://evil.example"], "403"],
    ["for another name", "/e/the-event-key", ["Host: evil.example"], "421"],
  ])(
    "a rejected body (%s) can be written to its end, the answer is read and the connection reused",
    async (_, path, headers, status) => {
      const gateway = await bench.gateway({ signingKey: SIGNING_KEY, eventKey: "the-event-key" });
      const client = new Stubborn(gateway);
      const lines = headers.filter((line) => !line.startsWith("Host"));
      const host = headers.find((line) => line.startsWith("Host")) ?? "Host: localhost";
      client.socket.write(
        [`POST ${path} HTTP/1.1`, host, ...lines, `Content-Length: ${17 * MIB}`, "", ""].join("\r\n"),
      );
      await client.write(PART);
      expect(await client.answered(1)).toEqual([status]);
      // The peer goes on writing after the library, left alone, would have ended the connection.
      await endedByLibrary();
      for (let part = 1; part < 17; part += 1) await client.write(PART);
      client.head("GET /health HTTP/1.1", ["Connection: close"]);
      await client.ended();
      expect([client.statuses(), client.error]).toEqual([[status, "200"], undefined]);
    },
  );

  test("a rejected body of unknown length is answered at its end, or when it exceeds the limit by far", async () => {
    const gateway = await bench.gateway();
    const chunk = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), PART, Buffer.from("\r\n")]);
    const client = new Stubborn(gateway);
    client.head("POST /e/key HTTP/1.1", ["Transfer-Encoding: chunked"]);
    for (let part = 0; part < 17; part += 1) await client.write(chunk);
    await client.write("0\r\n\r\n");
    expect(await client.answered(1)).toEqual(["413"]);
    client.head("GET /health HTTP/1.1", ["Connection: close"]);
    await client.ended();
    expect([client.statuses(), client.error]).toEqual([["413", "200"], undefined]);

    const endless = new Stubborn(gateway);
    endless.head("POST /e/key HTTP/1.1", ["Transfer-Encoding: chunked"]);
    let sent = 0;
    while (!endless.socket.closed && endless.error === undefined && sent < 200) {
      await endless.write(chunk);
      sent += 1;
    }
    expect(sent).toBeLessThan(120);
    expect((await metrics(gateway)).dispatcher.eventsReceived).toBe(0);
  });

  test("a body with a huge declared length ends the connection, on every route", async () => {
    const gateway = await bench.gateway();
    for (const path of ["/e/key", "/v1/runs/x/cancel", "/nowhere"]) {
      const client = new Stubborn(gateway);
      client.head(`POST ${path} HTTP/1.1`, [`Content-Length: ${1024 * MIB}`]);
      await client.ended();
      expect(client.statuses()).toHaveLength(1);
    }
  });
});

test("a body of unknown length is accepted up to the limit", async () => {
  const gateway = await bench.gateway();
  const event = JSON.stringify({ name: "shop/order", data: { text: "x".repeat(MIB) } });
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < event.length; at += 1000) controller.enqueue(Buffer.from(event.slice(at, at + 1000)));
      controller.close();
    },
  });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  expect((await fetch(`${gateway.url}/e/key`, init)).status).toBe(200);
});
