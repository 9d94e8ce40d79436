/**
 * Many workers in one process: bare sockets that speak the handshake and heartbeats of the protocol and take no work. They
 * are what a gateway has to do with a worker that is only there.
 */
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";
import { WebSocket } from "ws";
import { serveTest } from "../fixtures/serve-test.mjs";
import { PlainClient } from "./plain-client.mjs";

const wire = await protobuf.load(fileURLToPath(new URL("../../proto/connect.proto", import.meta.url)));
const type = (/** @type {string} */ name) => wire.lookupType(`connect.v1.${name}`);
const [Envelope, StartResponse, Hello, Ready] = [
  type("ConnectMessage"),
  type("StartResponse"),
  type("WorkerConnectRequestData"),
  type("GatewayConnectionReadyData"),
];
const kinds = wire.lookupEnum("connect.v1.GatewayMessageType").values;

/** Handshakes of this process under way at once. */
const AT_ONCE = 32;

/** @type {Set<WebSocket>} */
const sockets = new Set();
let beats = 0;
let beatsAnswered = 0;
let lost = 0;

const text = (/** @type {unknown} */ value) => Buffer.from(JSON.stringify(value));
const frame = (/** @type {string} */ kind, /** @type {Uint8Array} */ payload = new Uint8Array()) =>
  Envelope.encode({ kind: kinds[kind], payload }).finish();
const HEARTBEAT = frame("WORKER_HEARTBEAT");

const functions = text([
  {
    id: "crowd-one",
    name: "one",
    triggers: [{ event: "crowd/one" }],
    steps: {
      step: { id: "step", name: "step", runtime: { type: "ws", url: "wss://connect/?fnId=crowd-one&stepId=step" } },
    },
  },
]);
const capabilities = text({ trust_probe: "v1", connect: "v1" });

/** @param {WebSocket} socket @param {string} kind @returns {Promise<any>} payload of the next message, of this kind */
async function next(socket, kind) {
  const [data] = await once(socket, "message");
  const message = /** @type {any} */ (Envelope.decode(data));
  if (message.kind !== kinds[kind]) throw new Error(`The gateway sent message ${message.kind} instead of ${kind}.`);
  return message.payload;
}

/** @param {PlainClient} starts @param {string} instanceId */
async function connect(starts, instanceId) {
  const start = /** @type {any} */ (StartResponse.decode(await starts.post("application/protobuf", "")));
  const socket = new WebSocket(start.gatewayEndpoint, "v0.connect.inngest.com", { perMessageDeflate: false });
  await next(socket, "GATEWAY_HELLO");
  const hello = {
    connectionId: start.connectionId,
    instanceId,
    authData: { sessionToken: start.sessionToken, syncToken: start.syncToken },
    capabilities,
    apps: [{ appName: "crowd", functions }],
    workerManualReadinessAck: true,
    systemAttributes: { cpuCores: 1, memBytes: 1024, os: "linux" },
    framework: "connect",
    sdkVersion: "v0.1.0",
    sdkLanguage: "typescript",
  };
  socket.send(frame("WORKER_CONNECT", Hello.encode(hello).finish()));
  const ready = /** @type {any} */ (Ready.decode(await next(socket, "GATEWAY_CONNECTION_READY")));
  socket.send(frame("WORKER_READY"));
  keep(socket, Number.parseFloat(ready.heartbeatInterval) * 1000);
}

/** @param {WebSocket} socket @param {number} heartbeatMs */
function keep(socket, heartbeatMs) {
  sockets.add(socket);
  const timer = setInterval(() => {
    beats += 1;
    socket.send(HEARTBEAT);
  }, heartbeatMs);
  socket.on("message", () => {
    beatsAnswered += 1;
  });
  socket.on("error", () => {});
  socket.once("close", () => {
    clearInterval(timer);
    if (sockets.delete(socket)) lost += 1;
  });
}

serveTest({
  connect: async ({ url, count, name }) => {
    const indexes = Array.from({ length: count }, (_, index) => index).values();
    const starts = new PlainClient(new URL("/v0/connect/start", url), AT_ONCE);
    const connector = async () => {
      for (const index of indexes) await connect(starts, `${name}-${index}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, connector));
    starts.close();
  },
  state: () => ({ connected: sockets.size, beats, beatsAnswered, lost }),
  close: async () => {
    const open = [...sockets];
    sockets.clear();
    await Promise.all(
      open.map((socket) => {
        socket.close(1000, "WORKER_SHUTDOWN");
        return once(socket, "close");
      }),
    );
  },
});
