import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { awaitRuns } from "../../src/cli/await-runs.ts";
import { gatewayClient } from "../../src/cli/gateway-client.ts";
import { liveMessages } from "../../src/cli/live-messages.ts";
import { closeServer, listen } from "../../src/http/listen.ts";

/** Commands while their gateway listens and does not answer yet, or goes and comes again. */

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A port at which the real listener says that it starts, until `answer` is called. */
async function startingGateway() {
  const { server, port } = await listen("127.0.0.1", 0, "--port");
  ends.push(() => closeServer(server));
  const counts = { starting: 0 };
  server.on("request", () => {
    counts.starting += 1;
  });
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    answer: (handler: (path: string, response: ServerResponse) => void) => {
      server.removeAllListeners("request");
      server.on("request", ({ url }, response) => handler(url ?? "", response));
    },
  };
}

/** The parts of an answer that are read; its type keeps it from being held against the whole description. */
const json = (response: ServerResponse, body: object, status = 200): void =>
  void response.writeHead(status, { "Content-Type": "text/json" }).end(JSON.stringify(body));

const output = {
  print: () => {},
  note: () => {},
  isTerminal: false,
  showsProgress: false,
  columns: 80,
  colours: false,
};

describe("a gateway that is starting", () => {
  test("is waited for by a command, and is asked for what it was asked before", async () => {
    const { url, counts, answer } = await startingGateway();
    const client = gatewayClient({ url });
    const sent = client.sendEvents([{ name: "a" }]);
    await expect.poll(() => counts.starting).toBeGreaterThan(1);
    answer((_, response) => json(response, { ids: ["01E"], status: 200 }));
    expect(await sent).toEqual({ ids: ["01E"], awaited: [] });
  });

  test("is not waited for longer than a call may take", async () => {
    const { url } = await startingGateway();
    await expect(gatewayClient({ url, timeoutMs: 5_000 }).get("/dev")).rejects.toMatchObject({
      code: "GATEWAY_STARTING",
    });
  });

  test("is waited for by what follows runs: at first, and when it comes again", async () => {
    const { url, counts, answer } = await startingGateway();
    const lines: string[] = [];
    const end = new AbortController();
    const messages = liveMessages(gatewayClient({ url }), "/v1/live", {
      signal: end.signal,
      onGone: (why) => lines.push(`gone: ${why}`),
      onBack: () => lines.push("back"),
    });
    const first = messages.next();
    await expect.poll(() => counts.starting).toBeGreaterThan(1);
    let streams = 0;
    let restarting = 0;
    answer((path, response) => {
      if (streams === 1 && restarting < 3) {
        restarting += 1;
        return json(response, { error: "The gateway is starting.", code: "GATEWAY_STARTING", status: 503 }, 503);
      }
      if (path === "/dev") return json(response, { version: "1", functions: [] });
      streams += 1;
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(`event: run\ndata: {"seq":${streams}}\n\n`);
      if (streams === 1) response.end();
    });
    expect((await first).value).toMatchObject({ data: { seq: 1 } });
    expect((await messages.next()).value).toMatchObject({ data: { seq: 2 } });
    expect(lines).toEqual(["gone: it has closed the stream", "back"]);
    expect(restarting).toBe(3);
    end.abort();
    expect(await messages.next()).toMatchObject({ done: true });
  });
});

describe("a run that is waited for", () => {
  test("is asked for again when its gateway was away, which has known it", async () => {
    const run = { id: "01R", functionId: "shop-order", status: "RUNNING", endedMs: null };
    const first = createServer((_, response) => json(response, run)).listen(0, "127.0.0.1");
    ends.push(() => closeServer(first));
    await once(first, "listening");
    const address = first.address();
    const port = typeof address === "object" && address ? address.port : 0;
    let asked = 0;
    first.on("request", () => {
      asked += 1;
    });
    const waiting = awaitRuns(gatewayClient({ url: `http://127.0.0.1:${port}` }), ["01R"], {
      output,
      timeoutMs: 100_000,
    });
    await expect.poll(() => asked).toBeGreaterThan(1);
    await closeServer(first);
    const second = createServer((_, response) => json(response, { ...run, status: "COMPLETED", endedMs: 1 }));
    second.listen(port, "127.0.0.1");
    ends.push(() => closeServer(second));
    expect(await waiting).toMatchObject([{ status: "COMPLETED" }]);
  });

  test("fails at once where no gateway has ever answered", async () => {
    const client = gatewayClient({ url: "http://127.0.0.1:1" });
    await expect(awaitRuns(client, ["01R"], { output, timeoutMs: 100_000 })).rejects.toMatchObject({
      code: "GATEWAY_UNREACHABLE",
    });
  });
});
