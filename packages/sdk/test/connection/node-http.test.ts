import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { systemTimers } from "@holdfast/core";
import { afterEach, expect, it } from "vitest";
import { createGatewayHttp } from "../../src/connection/thread/gateway-http.ts";
import { postByNodeHttp } from "../../src/connection/thread/node-http.ts";
import { testConfig } from "./harness.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

const serving = async (listener: RequestListener): Promise<URL> =>
  new URL(`http://127.0.0.1:${await listening(createServer(listener))}/`);

const call = (signal = new AbortController().signal) => ({ headers: {}, body: new Uint8Array(3), signal });

it("a call ends with the reason of its signal, before the answer and in the middle of it", async () => {
  const silent = new AbortController();
  const unanswered = postByNodeHttp(await serving(() => silent.abort(new Error("enough"))), call(silent.signal));
  await expect(unanswered).rejects.toThrow("enough");

  const cut = new AbortController();
  const url = await serving((_request, response) => void response.write("half"));
  const answer = await postByNodeHttp(url, call(cut.signal));
  const reading = async (): Promise<void> => {
    for await (const _chunk of answer.body) cut.abort(new Error("enough of it"));
  };
  await expect(reading()).rejects.toThrow("enough of it");

  const never = postByNodeHttp(url, call(AbortSignal.abort(new Error("too late"))));
  await expect(never).rejects.toThrow("too late");
});

it("a peer that switches protocols has not answered", async () => {
  const server = createSocketServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n"));
  });
  const answer = postByNodeHttp(new URL(`http://127.0.0.1:${await listening(server)}/`), call());
  await expect(answer).rejects.toThrow();
});

it("a certificate that nobody vouches for is refused", async () => {
  const server = createSecureServer({ key: KEY, cert: CERT }, (_request, response) => void response.end());
  const url = new URL(`https://localhost:${await listening(server)}/`);
  await expect(postByNodeHttp(url, call())).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
});

it("a gateway that cannot be reached is reported with the system's reason, however many addresses it has", async () => {
  const port = await listening(createServer());
  servers.pop()?.close();
  for (const host of ["127.0.0.1", "localhost"]) {
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
    const http = createGatewayHttp(testConfig(`http://${host}:${port}/`), clock, systemTimers, postByNodeHttp);
    expect(await http.start("primary", [], new AbortController().signal)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/The start call failed: .*ECONNREFUSED/),
    });
  }
});

it("a body in shared memory arrives whole", async () => {
  const bodies: string[] = [];
  const url = await serving(async (request, response) => {
    for await (const chunk of request) bodies.push(String(chunk));
    response.end();
  });
  const body = new Uint8Array(new SharedArrayBuffer(4));
  body.set([104, 111, 108, 100]);
  expect(await postByNodeHttp(url, { ...call(), body })).toMatchObject({ status: 200 });
  expect(bodies).toEqual(["hold"]);
});

/** Of nobody; good for `localhost` for a hundred years. */
const KEY = createPrivateKey({
  format: "jwk",
  key: {
    kty: "EC",
    crv: "P-256",
    x: "X2yS0QMBSkIIJk-4htFgBTWp58cY3dhOM2QcxM6_vsk",
    y: "npqCzd7pzxoNz67-VGlXh179-zhoNJi8dEt-m3ux7FM",
    d: "wGiPIIfkUUepYdEKxF3liiOsYPDwQpDr-SF7qx767J4",
  },
}).export({ format: "pem", type: "pkcs8" });
const CERT = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUFYrPlocq4jjJuPTgK3vZRd5FQ3IwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjA5MzE1OFoYDzIxMjYxMDI5
MDkzMTU4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARfbJLRAwFKQggmT7iG0WAFNannxxjd2E4zZBzEzr++yZ6ags3e6c8a
Dc+u/lRpV4de/fs4aDSYvHRLfpt7sexTo28wbTAdBgNVHQ4EFgQUeyEX+WuVOFR/
USzvltMLH6OyvvswHwYDVR0jBBgwFoAUeyEX+WuVOFR/USzvltMLH6OyvvswDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAIILmI7mR2JbmdBATVy15sVjr1fDppiFQQhDlv0A6rlIAiBA
z6qLxWVaB+YqjjRSObBdhPEDzooFvHR17CAO/4rx5A==
-----END CERTIFICATE-----
`;
