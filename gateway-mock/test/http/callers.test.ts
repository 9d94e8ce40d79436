import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { SUBPROTOCOL } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { resolveConfig } from "../../src/config/config.ts";
import { type CallerRules, callerProblem, readHost } from "../../src/http/callers.ts";
import type { Gateway } from "../../src/server.ts";
import { metrics, SIGNING_KEY, useGateway } from "../server/harness.ts";
import { ask, routeTable } from "./route-table.ts";

const bench = useGateway();

/** What a browser sends for pages that have no business here, and what it must read. */
const strangers = (gateway: Gateway): [what: string, headers: Record<string, string>, code: string][] => [
  ["a page elsewhere", { Origin: "https://evil.example" }, "ORIGIN_REFUSED"],
  ["a page of another port", { Origin: "http://localhost:3000" }, "ORIGIN_REFUSED"],
  ["a page in a sandbox, or a file", { Origin: "null", "Sec-Fetch-Site": "cross-site" }, "ORIGIN_REFUSED"],
  ["an image or a script elsewhere", { "Sec-Fetch-Site": "cross-site" }, "ORIGIN_REFUSED"],
  ["an image of another port", { "Sec-Fetch-Site": "same-site" }, "ORIGIN_REFUSED"],
  ["a name like ours", { Origin: `http://localhost.evil.example:${gateway.port}` }, "ORIGIN_REFUSED"],
  ["our name in the user's place", { Origin: `http://localhost:${gateway.port}@evil.example` }, "ORIGIN_REFUSED"],
  ["a name that leads here", { Host: `evil.example:${gateway.port}` }, "HOST_REFUSED"],
  ["the same, without a port", { Host: "evil.example" }, "HOST_REFUSED"],
  ["a page of that name", { Host: "evil.example:80", Origin: "http://evil.example" }, "HOST_REFUSED"],
  ["that name as the same origin", { Host: "evil.example", "Sec-Fetch-Site": "same-origin" }, "HOST_REFUSED"],
  ["a name that only begins like ours", { Host: "127.0.0.1.evil.example" }, "HOST_REFUSED"],
];

describe("Cross-site pages", () => {
  test("cross-site pages reach no route, even with the key, and cause no effect", async () => {
    const keyless = await bench.gateway({ virtualTime: true });
    const { routes } = routeTable(bench.store);
    for (const [what, headers, code] of strangers(keyless)) {
      const form = { ...headers, "Content-Type": "text/plain" };
      const answers = await Promise.all(
        routes.map(async (route) => [route.name, (await ask(keyless.url, route, form, eventBody(route.method))).code]),
      );
      expect([what, answers]).toEqual([what, routes.map(({ name }) => [name, code])]);
    }
    expect((await metrics(keyless)).dispatcher.eventsReceived).toBe(0);
  });

  test("cross-site pages reach neither newly added routes nor missing ones", async () => {
    const { app } = routeTable(bench.store, {}, (planted) => planted.all("/new", (c) => c.text("secret")));
    for (const method of ["GET", "POST", "OPTIONS", "HEAD", "DELETE"]) {
      for (const path of ["/new", "/nowhere"]) {
        const status = async (headers: Record<string, string>): Promise<number> =>
          (await app.request(`http://localhost${path}`, { method, headers: { Host: "localhost", ...headers } })).status;
        expect([method, path, await status({ Origin: "https://evil.example" })]).toEqual([method, path, 403]);
        expect([method, path, await status({ Host: "evil.example" })]).toEqual([method, path, 421]);
      }
    }
  });

  test("cross-site pages cannot open a WebSocket", async () => {
    const gateway = await bench.gateway();
    for (const [what, headers, code] of strangers(gateway)) {
      for (const url of [`${gateway.url.replace("http", "ws")}/v0/connect`, gateway.connectUrl]) {
        expect([what, await upgrade(url, headers)]).toEqual([what, code === "HOST_REFUSED" ? 421 : 403]);
      }
    }
  });
});

test("an unreadable Host header is rejected before any lookup", async () => {
  const gateway = await bench.gateway();
  for (const host of ["evil.example@localhost", "a b", "localhost/x", "[::1"]) {
    const event = await ask(gateway.url, { method: "POST", path: "/e/key" }, { Host: host }, eventBody("POST"));
    expect([host, event.status]).toEqual([host, 400]);
    expect([host, await upgrade(gateway.connectUrl, { Host: host })]).toEqual([host, 421]);
  }
  expect((await metrics(gateway)).dispatcher.eventsReceived).toBe(0);
});

describe("Permitted callers", () => {
  test("this machine's names and addresses are permitted on any forwarded port, and so are the gateway's own pages", async () => {
    const gateway = await bench.gateway();
    const { port, connectPort } = gateway;
    const good: Record<string, string>[] = [
      {},
      { Host: "localhost" },
      { Host: `LOCALHOST:${port}` },
      { Host: "localhost:9000", Origin: "http://localhost:9000", "Sec-Fetch-Site": "same-origin" },
      { Host: "127.0.0.1" },
      { Host: `[::1]:${port}` },
      { Host: "192.168.1.20:9000" },
      { Host: `app.localhost:${port}` },
      { "Sec-Fetch-Site": "none" },
      { "Sec-Fetch-Site": "same-origin" },
      { Origin: `http://127.0.0.1:${port}` },
      { Origin: `http://127.0.0.1:${connectPort}`, "Sec-Fetch-Site": "same-site" },
      { Host: "localhost", Origin: "https://localhost" },
    ];
    for (const headers of good) {
      const event = await ask(gateway.url, { method: "POST", path: "/e/key" }, headers, eventBody("POST"));
      expect([headers, event.status]).toEqual([headers, 200]);
      expect([headers, await upgrade(gateway.connectUrl, headers)]).toEqual([headers, "open"]);
    }
  });

  test("load balancers that ask in HTTP/1.0 without a Host learn whether it is ready, and nothing else", async () => {
    const gateway = await bench.gateway({ allowedHosts: ["gateway.example"] });
    const answerTo = async (path: string, headers = ""): Promise<string> => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.write(`GET ${path} HTTP/1.0\r\n${headers}\r\n`);
      return text(socket);
    };
    expect(await answerTo("/ready")).toMatch(/^HTTP\/1\.1 200 .*\{"ready":true\}$/s);
    expect(await answerTo("/health")).toMatch(/^HTTP\/1\.1 200 /);
    expect(await answerTo("/v1/runs")).toMatch(/^HTTP\/1\.1 421 .*The Host header is missing or malformed\./s);
    expect(await answerTo("/ready", "Origin: https://evil.example\r\n")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await answerTo("/ready", "Host: evil.example\r\n")).toMatch(/^HTTP\/1\.1 421 /);
  });

  test("pages of allowed origins are permitted, and may read only the answers to their events", async () => {
    const page = { Origin: "https://app.example.com", "Sec-Fetch-Site": "cross-site" };
    const gateway = await bench.gateway({ allowedOrigins: ["https://App.example.com/", "https://other.example"] });
    expect(await upgrade(gateway.connectUrl, page)).toBe("open");
    const preflight = { ...page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-a" };
    const readable = "access-control-allow-origin";
    const before = await ask(gateway.url, { method: "OPTIONS", path: "/e/key" }, preflight);
    expect(before).toMatchObject({
      status: 204,
      headers: {
        [readable]: page.Origin,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "x-a",
      },
    });
    const sent = await ask(gateway.url, { method: "POST", path: "/e/key" }, page, eventBody("POST"));
    expect(sent).toMatchObject({ status: 200, headers: { [readable]: page.Origin, vary: "Origin" } });
    const wrong = await ask(gateway.url, { method: "POST", path: "/e/key" }, page, "{");
    expect(wrong).toMatchObject({ status: 400, code: "BODY_INVALID", headers: { [readable]: page.Origin } });
    const runs = await ask(gateway.url, { method: "GET", path: "/v1/runs" }, page);
    expect([runs.status, runs.headers[readable]]).toEqual([200, undefined]);
    for (const headers of [{}, { Origin: gateway.url }, { Origin: "https://evil.example" }]) {
      const answer = await ask(gateway.url, { method: "POST", path: "/e/key" }, headers, eventBody("POST"));
      expect([headers, answer.headers[readable]]).toEqual([headers, undefined]);
    }
  });

  test("a cross-site request of an allowed origin still needs the key in its path", async () => {
    const gateway = await bench.gateway({ eventKey: "secret", allowedOrigins: ["https://app.example.com"] });
    const page = { Origin: "https://app.example.com" };
    const wrong = await ask(gateway.url, { method: "POST", path: "/e/wrong" }, page, eventBody("POST"));
    expect(wrong).toMatchObject({ status: 401, headers: { "access-control-allow-origin": page.Origin } });
  });

  test("a gateway that others can reach has keys, and accepts any host name or only the allowed ones", () => {
    const rules = (checksHost: boolean, hosts: readonly string[] = []): CallerRules => {
      return { checksHost, hosts, origins: [], ports: [8288] };
    };
    const host = (name: string, one: CallerRules): string | undefined =>
      callerProblem({ host: name, origin: undefined, fetchSite: undefined }, one)?.code;
    expect(host("gateway.internal:8288", rules(false))).toBeUndefined();
    expect(host("gateway.internal:8288", rules(true, ["gateway.internal"]))).toBeUndefined();
    expect(host("gateway.internal.:8288", rules(true, ["gateway.internal"]))).toBeUndefined();
    expect(host("10.0.0.7:8288", rules(true, ["gateway.internal"]))).toBeUndefined();
    expect(host("other.internal", rules(true, ["gateway.internal"]))).toBe("HOST_REFUSED");
    expect(host("", rules(false))).toBe("HOST_REFUSED");
  });
});

test("host and origin options that could never match are rejected", () => {
  for (const allowedHosts of [["a:1"], ["http://a"], [""], ["a b"], "a", [5]]) {
    expect(() => resolveConfig({ allowedHosts: allowedHosts as never })).toThrow(/allowedHosts/);
  }
  for (const allowedOrigins of [["*"], ["null"], ["a.example"], ["https://a/b"], ["https://*"], "a", [5]]) {
    expect(() => resolveConfig({ allowedOrigins: allowedOrigins as never })).toThrow(/allowedOrigins/);
  }
  const config = {
    allowedHosts: ["Gate.Example."],
    allowedOrigins: ["HTTPS://a.example:443", "chrome-extension://abc"],
  };
  expect(resolveConfig(config)).toMatchObject({
    allowedHosts: ["gate.example"],
    allowedOrigins: ["https://a.example", "chrome-extension://abc"],
  });
  expect(resolveConfig({ host: "0.0.0.0", signingKey: SIGNING_KEY, eventKey: "e" }).allowedHosts).toEqual([]);
});

test.each([
  ["127.1", "127.0.0.1"],
  ["0x7f.1:80", "127.0.0.1"],
  ["[::1]:5", "[::1]"],
  ["a/b", undefined],
  ["a@b", undefined],
  ["", undefined],
])("the Host header %j is parsed as %j", (text, hostname) => {
  expect(readHost(text)?.hostname).toBe(hostname);
});

function eventBody(method: string): string {
  return method === "POST" ? '{"name":"shop/order","data":{}}' : "";
}

async function upgrade(url: string, headers: Record<string, string>): Promise<number | "open"> {
  const socket = new WebSocket(url, SUBPROTOCOL, { headers });
  const result = await Promise.race([
    once(socket, "open").then(() => "open" as const),
    once(socket, "unexpected-response").then(([, response]) => (response as { statusCode: number }).statusCode),
  ]);
  socket.on("error", () => {});
  socket.terminate();
  return result;
}
