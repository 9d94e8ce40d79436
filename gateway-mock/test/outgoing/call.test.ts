import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { MockAgent, request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { isInnerAddress } from "../../src/outgoing/addresses.ts";
import { Caller, type CallSettings } from "../../src/outgoing/call.ts";
import { connectionsFor, InnerAddressError, type Lookup } from "../../src/outgoing/connections.ts";

const servers: Server[] = [];
const callers: Caller[] = [];

afterEach(async () => {
  await Promise.all(callers.splice(0).map((caller) => caller.close()));
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function serve(answer: Answer): Promise<{ url: string; port: number; connections: Socket[] }> {
  const connections: Socket[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => answer(request, response, body));
  });
  server.on("connection", (socket) => connections.push(socket));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, connections };
}

const settings: CallSettings = { allowInner: true, timeoutMs: 60_000, maxBytes: 1000 };
const never = new AbortController().signal;
const get = { method: "GET", headers: {} };

function callerWith(more: Partial<CallSettings> = {}): Caller {
  const caller = new Caller({ ...settings, ...more });
  callers.push(caller);
  return caller;
}

test("redirects are followed without sending secrets to other hosts, and bodies and times have limits", async () => {
  const secrets = ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-goog-api-key"];
  const other = await serve(({ headers }, response) => {
    const sent = secrets.filter((name) => headers[name] !== undefined);
    response.end(`key ${sent.join() || "none"}`);
  });
  const { url } = await serve((request, response) => {
    if (request.url === "/away") response.writeHead(302, { location: other.url }).end();
    else if (request.url === "/round") response.writeHead(307, { location: "/round" }).end();
    else if (request.url === "/nowhere") response.writeHead(302, { location: "http://[" }).end();
    else if (request.url === "/large") response.end("x".repeat(2000));
    else if (request.url === "/bomb") {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(100_000)));
    }
  });
  const call = (path: string, more: object = {}) => ({ ...get, url: url + path, ...more });
  const headers = Object.fromEntries(secrets.map((name) => [name, "secret"]));
  const caller = callerWith();
  expect(await caller.call(call("/away", { headers }), never)).toMatchObject({ ok: true, body: "key none" });
  expect(await caller.call(call("/round"), never)).toMatchObject({ ok: false, code: "FETCH_REFUSED" });
  expect(await caller.call(call("/nowhere"), never)).toMatchObject({ ok: false, code: "FETCH_REFUSED" });
  expect(await caller.call(call("/large"), never)).toMatchObject({ code: "FETCH_TOO_LARGE", retry: false });
  expect(await caller.call(call("/bomb"), never)).toMatchObject({ code: "FETCH_TOO_LARGE", retry: false });
  const quick = callerWith({ timeoutMs: 50 });
  expect(await quick.call(call("/silent"), never)).toMatchObject({ code: "FETCH_TIMEOUT", retry: true });
});

test("what is said to be encoded is read, also where it is empty or broken", async () => {
  const body = gzipSync("hello");
  const answers: Readonly<Record<string, [encoding: string, body?: Buffer | undefined, status?: number]>> = {
    "/gzip": ["gzip", body],
    "/capitals": ["GZIP", body],
    "/none": ["gzip", undefined, 204],
    "/same": ["br", undefined, 304],
    "/empty": ["gzip"],
    "/empty-br": ["br"],
    "/deflate": ["deflate", deflateSync("hello")],
    "/cut": ["gzip", body.subarray(0, 12)],
    "/wrong": ["gzip", Buffer.from("hello")],
    "/cut-br": ["br", brotliCompressSync("hello").subarray(0, 5)],
  };
  const { url } = await serve((request, response) => {
    const [encoding = "", data, status = 200] = answers[request.url ?? ""] ?? [];
    response.writeHead(status, { "content-encoding": encoding });
    response.end(request.method === "HEAD" ? undefined : data);
  });
  const caller = callerWith();
  const call = (path: string, method = "GET") => caller.call({ ...get, method, url: url + path }, never);
  for (const path of ["/gzip", "/capitals", "/deflate"]) {
    expect([path, await call(path)]).toMatchObject([path, { ok: true, status: 200, body: "hello" }]);
    expect([path, await call(path, "HEAD")]).toMatchObject([path, { ok: true, status: 200, body: "" }]);
  }
  for (const path of ["/none", "/same", "/empty", "/empty-br"]) {
    expect([path, await call(path)]).toMatchObject([path, { ok: true, body: "" }]);
  }
  for (const path of ["/cut", "/wrong", "/cut-br"]) {
    expect([path, await call(path)]).toMatchObject([path, { ok: false, code: "FETCH_FAILED", retry: true }]);
  }
});

test("calls to one server share its connections, and an oversized answer does not break them", async () => {
  const { url, connections } = await serve((request, response, body) => {
    response.end(request.url === "/large" ? "x".repeat(2000) : `${request.method} ${body}`);
  });
  const caller = callerWith();
  for (let round = 0; round < 20; round += 1) {
    const posted = { method: "POST", headers: { "content-length": "999" }, body: "ä", url };
    expect(await caller.call(posted, never)).toMatchObject({ ok: true, status: 200, body: "POST ä" });
  }
  expect(connections.length).toBeLessThan(5);
  expect(await caller.call({ ...get, url: `${url}/large` }, never)).toMatchObject({ code: "FETCH_TOO_LARGE" });
  expect(await caller.call({ ...get, url }, never)).toMatchObject({ ok: true, body: "GET " });
});

test("an impossible request is rejected at once; a server that drops the connection is retried", async () => {
  const { url } = await serve((request) => request.socket.destroy());
  const caller = callerWith();
  for (const wrong of [{ headers: { "x-a": "a\nb" } }, { method: "G T" }, { headers: { "a b": "x" } }]) {
    expect(await caller.call({ ...get, url, ...wrong }, never)).toMatchObject({ code: "FETCH_FAILED", retry: false });
  }
  expect(await caller.call({ ...get, url }, never)).toMatchObject({ code: "FETCH_FAILED", retry: true });
  const stopped = new AbortController();
  stopped.abort();
  expect(await caller.call({ ...get, url }, stopped.signal)).toMatchObject({ ok: false, code: "FETCH_FAILED" });
});

/** Addresses of this machine and of networks that are not the internet, with the block that each is of. */
const INNER: Readonly<Record<string, readonly string[]>> = {
  "0.0.0.0/8": ["0.0.0.0", "0.1.2.3"],
  "10.0.0.0/8": ["10.1.2.3"],
  "100.64.0.0/10": ["100.64.1.1", "100.127.255.255"],
  "127.0.0.0/8": ["127.0.0.1", "127.255.255.254"],
  "169.254.0.0/16": ["169.254.169.254"],
  "172.16.0.0/12": ["172.20.0.1", "172.31.255.255"],
  "192.0.0.0/24": ["192.0.0.170"],
  "192.0.2.0/24": ["192.0.2.1"],
  "192.88.99.0/24": ["192.88.99.1"],
  "192.168.0.0/16": ["192.168.1.1"],
  "198.18.0.0/15": ["198.19.0.1"],
  "198.51.100.0/24": ["198.51.100.7"],
  "203.0.113.0/24": ["203.0.113.7"],
  "224.0.0.0/4": ["224.0.0.1"],
  "240.0.0.0/4": ["255.255.255.255"],
  "::/96": ["::", "::1", "::127.0.0.1", "::7f00:1", "0:0:0:0:0:0:a9fe:a9fe", "::8.8.8.8"],
  "::ffff:0:0/96": ["::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:FFFF:10.0.0.1"],
  "::ffff:0:0:0/96": ["::ffff:0:127.0.0.1"],
  "64:ff9b::/96": ["64:ff9b::7f00:1", "64:ff9b::169.254.169.254"],
  "64:ff9b:1::/48": ["64:ff9b:1::7f00:1", "64:ff9b:1:ffff::1"],
  "100::/64": ["100::1"],
  "2001::/32": ["2001::1", "2001:0:7f00:1::1"],
  "2001:10::/28": ["2001:10::1"],
  "2001:db8::/32": ["2001:db8::1"],
  "2002::/16": ["2002:7f00:1::", "2002:a9fe:a9fe::1"],
  "3fff::/20": ["3fff::1"],
  "5f00::/16": ["5f00::1"],
  "fc00::/7": ["fd00::1", "fc00::1"],
  "fe80::/10": ["fe80::1%eth0", "febf::1"],
  "fec0::/10": ["fec0::1", "feff::1"],
  "ff00::/8": ["ff02::1"],
};

test.each(Object.entries(INNER))("%s is a private address", (_block, addresses) => {
  for (const address of addresses) {
    expect(isInnerAddress(address), address).toBe(true);
    if (address.includes(":")) expect(isInnerAddress(`[${address}]`), address).toBe(true);
  }
});

test("public addresses and host names are not private addresses", () => {
  const outer = [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "100.128.0.1",
    "192.88.98.1",
    "2606:4700::1111",
    "2001:4860:4860::8888",
  ];
  for (const address of [...outer, "::ffff:8.8.8.8", "2003::1", "64:ff9c::1", "example.com"]) {
    expect(isInnerAddress(address), address).toBe(false);
  }
});

/** This machine, as the host of an address may be written. */
const SPELLINGS = [
  "127.0.0.1",
  "127.1",
  "0177.0.0.1",
  "0x7f.0.0.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "127.0.0.1.",
  "①②⑦.⓪.⓪.①",
  "１２７.０.０.１",
  "%31%32%37.0.0.1",
  "0",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001::7f00:1]",
  "[fec0::1]",
  "user:password@127.0.0.1",
];

describe("A gateway that others can reach", () => {
  test.each(SPELLINGS)("a gateway others can reach does not call %s, directly or by redirect", async (host) => {
    const { port, connections } = await serve((_, response) => response.end("secret"));
    const target = `http://${host}:${port}/`;
    const caller = callerWith({ allowInner: false });
    expect(await caller.call({ ...get, url: target }, never)).toMatchObject({ code: "FETCH_REFUSED", retry: false });
    const mock = new MockAgent();
    mock.disableNetConnect();
    const origin = mock.get("http://outer.example");
    for (const status of [301, 302, 303, 307, 308]) {
      origin.intercept({ path: `/${status}` }).reply(status, "", { headers: { location: target } });
      const redirected = callerWith({ allowInner: false, dispatcher: mock });
      const answer = await redirected.call({ ...get, url: `http://outer.example/${status}` }, never);
      expect(answer, `${status}`).toMatchObject({ code: "FETCH_REFUSED", retry: false });
    }
    await mock.close();
    expect(connections).toHaveLength(0);
  });

  test.each(SPELLINGS)("a gateway others can reach opens no connection to %s for any caller", async (host) => {
    const { port, connections } = await serve((_, response) => response.end("secret"));
    const dispatcher = connectionsFor({ allowInner: false });
    await expect(request(`http://${host}:${port}/`, { dispatcher })).rejects.toBeInstanceOf(InnerAddressError);
    expect(connections).toHaveLength(0);
    await dispatcher.destroy();
  });

  test.each(Object.values(INNER).flat())(
    "a gateway others can reach does not call a name that resolves to %s",
    async (address) => {
      const { port, connections } = await serve((_, response) => response.end("secret"));
      const family = address.includes(":") ? 6 : 4;
      const lookup: Lookup = (_host, _options, done) =>
        done(null, [
          { address: "8.8.8.8", family: 4 },
          { address: address.replace(/%.*/, ""), family },
        ]);
      const caller = callerWith({ allowInner: false, lookup });
      const answer = await caller.call({ ...get, url: `http://outer.example:${port}` }, never);
      expect(answer).toMatchObject({ code: "FETCH_REFUSED", retry: false });
      expect(connections).toHaveLength(0);
    },
  );

  test("a name is resolved once per connection, and the checked address is the one called", async () => {
    const { port } = await serve((_, response) => response.end("reached"));
    let asked = 0;
    const lookup: Lookup = (_host, _options, done) => {
      asked += 1;
      done(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    const url = `http://outer.example:${port}`;
    expect(await callerWith({ lookup }).call({ ...get, url }, never)).toMatchObject({ ok: true, body: "reached" });
    expect(asked).toBe(1);
  });

  test("a name that resolves differently for the next connection is checked again", async () => {
    const { port, connections } = await serve((_, response) => response.end("secret"));
    const addresses = ["8.8.8.8", "127.0.0.1"];
    const seen: string[] = [];
    const lookup: Lookup = (_host, _options, done) => {
      const address = addresses[Math.min(seen.length, 1)] as string;
      seen.push(address);
      if (address === "8.8.8.8") return done(new Error("cannot be reached from here"), []);
      return done(null, [{ address, family: 4 }]);
    };
    const caller = callerWith({ allowInner: false, lookup });
    const call = { ...get, url: `http://outer.example:${port}` };
    expect(await caller.call(call, never)).toMatchObject({ code: "FETCH_FAILED", retry: true });
    expect(await caller.call(call, never)).toMatchObject({ code: "FETCH_REFUSED" });
    expect(seen).toEqual(addresses);
    expect(connections).toHaveLength(0);
  });
});
