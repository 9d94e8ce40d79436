import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL } from "@holdfast/protocol";
import { expect, test, vi } from "vitest";
import { GATEWAY_LIMITS } from "../../src/config/config.ts";
import { SocketServer } from "../../src/ws/server.ts";
import type { Sessions } from "../../src/ws/sessions.ts";

/** The module is loaded at its first use, which takes a busy machine long. */
const PATIENT = { timeout: 100_000 };

/** Upgrades that come before the protocol's implementation is loaded, which the first of them loads. */

class Peer extends Duplex {
  written = "";

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.written += chunk.toString("latin1");
    done();
  }

  setTimeout(): void {}
  setNoDelay(): void {}
}

function open() {
  const accept = vi.fn(() => ({ evict: () => {} }));
  const sessions: Pick<Sessions, "size" | "close"> & { accept: unknown } = { size: 0, close: () => {}, accept };
  const { pending } = GATEWAY_LIMITS;
  const options = { maxSockets: 10, maxMessageBytes: 1024, pending, refusal: () => undefined };
  const server = new SocketServer({ ...options, sessions: sessions as Sessions });
  const http = new EventEmitter();
  server.listenOn(http as Server);
  const upgrade = (): Peer => {
    const peer = new Peer();
    const headers = {
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      "sec-websocket-version": "13",
      "sec-websocket-protocol": SUBPROTOCOL,
    };
    http.emit("upgrade", { url: CONNECT_PATH, method: "GET", headers }, peer, Buffer.alloc(0));
    return peer;
  };
  return { server, accept, upgrade };
}

test("sockets that come while the protocol is being loaded are upgraded then, those that are gone are not counted", async () => {
  const { server, accept, upgrade } = open();
  const gone = upgrade();
  gone.destroy();
  const [one, two] = [upgrade(), upgrade()];
  expect(accept).not.toHaveBeenCalled();
  await vi.waitFor(() => expect(accept).toHaveBeenCalledTimes(2), PATIENT);
  for (const peer of [one, two]) expect(peer.written).toMatch(/^HTTP\/1.1 101 /);
  expect(gone.written).toBe("");
  expect(server.pending().sockets).toBe(2);
  // From now on there is nothing to wait for.
  upgrade();
  expect(accept).toHaveBeenCalledTimes(3);
  server.close();
});

test("a socket that comes while the protocol is being loaded is closed when the gateway closes meanwhile", async () => {
  const { server, accept, upgrade } = open();
  const peer = upgrade();
  server.close();
  await vi.waitFor(() => expect(peer.destroyed).toBe(true), PATIENT);
  expect(accept).not.toHaveBeenCalled();
});
