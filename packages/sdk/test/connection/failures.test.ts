import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTest } from "./harness.ts";
import { readyFrame, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

const listeners = (): number => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");

describe("Failures of connect()", () => {
  it("connect() rejects with CONNECT_TIMEOUT and the last problem when nothing answers, and leaves nothing behind", async () => {
    const before = listeners();
    const url = gateway.url;
    gateway.script.startStatus = () => 500;
    const opening = openTest(url, { connectTimeoutMs: 3_000, signals: ["SIGINT", "SIGTERM"] });
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
    await expect(opening).rejects.toThrow(/500/);
    expect(listeners()).toBe(before);
    const { length } = gateway.starts;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(gateway.starts.length).toBe(length);
  });

  it("connect() rejects with CONNECT_TIMEOUT when the start call gets no answer", async () => {
    gateway.script.holdStart = true;
    const message = expect.stringContaining(`The gateway at ${gateway.url} has not answered yet.`);
    const opening = openTest(gateway.url, { connectTimeoutMs: 5_000 });
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_TIMEOUT", message });
  });

  it("connect() rejects with CONNECT_TIMEOUT and closes the socket when the gateway never says hello", async () => {
    gateway.script.first = () => {};
    await expect(openTest(gateway.url, { connectTimeoutMs: 300 })).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
  });

  it("connect() rejects with CONNECT_REFUSED at once when every key is rejected, including the fallback key", async () => {
    gateway.script.startStatus = () => 401;
    const config = { hashedSigningKey: "one", hashedFallbackKey: "two" };
    const message = expect.stringContaining("status 401: Not so.");
    await expect(openTest(gateway.url, { config })).rejects.toMatchObject({ code: "CONNECT_REFUSED", message });
    expect(gateway.starts.map((start) => start.authorization)).toEqual(["Bearer one", "Bearer two"]);
  });

  it("connect() rejects with CONNECT_REFUSED at once, and in the gateway's words, for a key of another environment", async () => {
    const error = `The key (apps, production) belongs to the environment "production", not to "${"preview".repeat(30)}".`;
    gateway.script.answerStart = (response) =>
      response.writeHead(403).end(JSON.stringify({ error, code: "ENVIRONMENT_REFUSED", status: 403 }));
    const opening = openTest(gateway.url, { config: { hashedSigningKey: "one" } });
    const message = expect.stringMatching(/status 403: The key \(apps, production\) belongs .*ENVIRONMENT_REFUSED/);
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_REFUSED", message });
    expect(gateway.starts).toHaveLength(1);
  });

  it("a 403 of something else, such as a proxy, does not end the attempts", async () => {
    gateway.script.startStatus = () => (gateway.starts.length < 3 ? 403 : 200);
    const { connection } = await openTest(gateway.url);
    expect(gateway.starts.length).toBeGreaterThanOrEqual(3);
    await connection.close();
  });

  it("connect() uses the fallback key when only that one is accepted", async () => {
    gateway.script.startStatus = (authorization) => (authorization === "Bearer two" ? 200 : 401);
    const config = { hashedSigningKey: "one", hashedFallbackKey: "two" };
    const { connection } = await openTest(gateway.url, { config });
    expect(connection.state).toBe("ACTIVE");
    await connection.close();
  });

  it("connect() rejects with CONNECT_REFUSED and the gateway's message when the functions are rejected", async () => {
    gateway.script.welcome = (peer) => {
      peer.send({ kind: "SYNC_FAILED", code: "config_invalid", message: "No such trigger." });
      peer.socket.close(1008, "config_invalid");
    };
    await expect(openTest(gateway.url)).rejects.toThrow(/No such trigger/);
  });

  it.each([
    ["begins with a wrong frame", (): void => {}],
    ["sends bytes that are no frame", (): void => {}],
  ])("connect() closes the socket of a gateway that %s, and tries again", async (what) => {
    let tries = 0;
    gateway.script.first = (peer) => {
      tries += 1;
      if (tries > 1) peer.send({ kind: "GATEWAY_HELLO" });
      else if (what.includes("wrong")) peer.send({ kind: "GATEWAY_HEARTBEAT" });
      else peer.socket.send(Buffer.from([0xff, 0xff, 0xff]), { binary: true });
    };
    const { connection } = await openTest(gateway.url);
    await until(() => gateway.peers[0]!.closed, "the end of the first socket");
    expect(gateway.peers[0]!.closed).toEqual({ code: 4001, reason: "UNEXPECTED" });
    expect(gateway.peers).toHaveLength(2);
    await connection.close();
  });

  it("connect() ignores a web page as the answer to the start call, and tries again", async () => {
    gateway.script.startBody = Buffer.from("<!doctype html><title>Proxy</title>");
    const opening = openTest(gateway.url);
    await until(() => gateway.starts.length >= 2, "a second try");
    gateway.script.startBody = undefined;
    const { connection } = await opening;
    await connection.close();
  });

  it("connect() closes a socket that does not become ready in time, and tries again", async () => {
    let tries = 0;
    gateway.script.welcome = (peer) => {
      tries += 1;
      if (tries > 1) peer.send(readyFrame(gateway.script));
    };
    const { connection } = await openTest(gateway.url, { config: { openMs: 300 } });
    await until(() => gateway.peers[0]!.closed, "the end of the first socket");
    await connection.close();
  });

  it("connect() rejects with the cause when the thread cannot start", async () => {
    const opening = openTest(gateway.url, { script: { text: "throw new Error('boom at the start')" } });
    await expect(opening).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await expect(opening).rejects.toThrow(/boom at the start/);
  });
});
