import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { SESSION_COOKIE } from "../../src/http/page/sessions.ts";
import type { Gateway } from "../../src/server.ts";
import { SIGNING_KEY, useGateway } from "../server/harness.ts";
import { ask as askAnyhow } from "./route-table.ts";

const bench = useGateway();
const KEYS = { signingKey: SIGNING_KEY, eventKey: "the-event-key" };
const JSON_TYPE = { "content-type": "application/json" };

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
  readonly setCookie: string;
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
}

async function signIn(gateway: Gateway, by: object, headers: Record<string, string> = {}): Promise<SignedIn> {
  const init = { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(by) };
  const response = await fetch(`${gateway.url}/ui/session`, init);
  expect(response.status).toBe(200);
  const setCookie = response.headers.get("set-cookie") ?? "";
  const { session } = (await response.json()) as { session: { csrf: string } };
  return { setCookie, cookie: setCookie.split(";")[0] ?? "", csrf: session.csrf };
}

async function ask(gateway: Gateway, method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(`${gateway.url}${path}`, { method, headers });
  const { code } = (await response.json().catch(() => ({}))) as { code?: string };
  return { status: response.status, code };
}

describe("The files of the dashboard", () => {
  test("are served to anyone, with a strict policy, the page itself under every view's address", async () => {
    const gateway = await bench.gateway(KEYS);
    for (const path of ["/", "/ui", "/ui/runs", "/ui/runs/01J?x=1", "/ui/functions/a%2Fb"]) {
      const response = await fetch(`${gateway.url}${path}`);
      expect([path, response.status, response.headers.get("content-type")]).toEqual([
        path,
        200,
        "text/html; charset=utf-8",
      ]);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(response.headers.get("cache-control")).toBe("no-cache");
      const text = await response.text();
      expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=/);
      expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = ""]) => url.slice(0, 11))).toEqual([
        "/ui/assets/",
        "/ui/assets/",
        "/ui/assets/",
      ]);
    }
  });

  test("are kept by browsers where their name has their content's hash, and asked for again otherwise", async () => {
    const gateway = await bench.gateway();
    const index = await fetch(`${gateway.url}/`);
    const [, script = ""] = /src="([^"]+\.js)"/.exec(await index.text()) ?? [];
    const file = await fetch(`${gateway.url}${script}`);
    expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(file.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(file.headers.get("content-encoding")).toBe("gzip");
    const plain = await fetch(`${gateway.url}${script}`, { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await file.text());
    const again = { headers: { "if-none-match": index.headers.get("etag") ?? "" } };
    expect((await fetch(`${gateway.url}/`, again)).status).toBe(304);
    const head = await fetch(`${gateway.url}${script}`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const path of ["/ui/assets/none.js", "/ui/assets/..%2findex.html", "/ui/assets/"]) {
      expect([path, (await ask(gateway, "GET", path, {})).status]).toEqual([path, 404]);
    }
  });

  test("may be opened from a link elsewhere, but no other page may load them, and no other name leads to them", async () => {
    const gateway = await bench.gateway();
    // Headers that `fetch` would set by itself.
    const get = async (path: string, headers: Record<string, string>): Promise<Answer> => {
      const { status, code } = await askAnyhow(gateway.url, { method: "GET", path }, headers);
      return { status, code };
    };
    const visit = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect((await get("/ui/runs", visit)).status).toBe(200);
    const frame = { ...visit, "sec-fetch-dest": "iframe" };
    expect(await get("/", frame)).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
    const image = { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
    expect(await get("/", image)).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
    expect(await get("/", { ...visit, Host: "evil.example" })).toEqual({ status: 421, code: "HOST_REFUSED" });
    // A visit reads the page, and nothing of the API.
    expect(await get("/v1/runs", visit)).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
    expect(await ask(gateway, "POST", "/ui/runs", {})).toEqual({ status: 404, code: "NOT_FOUND" });
  });

  test("have 80 kB to begin with, without graphs and checks of forms, and 100 kB in all, as they are sent", () => {
    const folder = new URL("../../dist/dashboard/", import.meta.url);
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("."));
    const sizeOf = (name: string): number => gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).byteLength;
    const sum = (some: readonly string[]): number => some.reduce((all, name) => all + sizeOf(name), 0);
    const late = names.filter((name) => /assets\/(render|schema-check)-/.test(name));
    expect([late.length, names.length > 5]).toEqual([2, true]);
    expect(sum(names.filter((name) => !late.includes(name)))).toBeLessThan(80_000);
    expect(sum(names)).toBeLessThan(100_000);
  });

  test("are not there without the dashboard", async () => {
    const gateway = await bench.gateway({ dashboard: "off" });
    expect(gateway.dashboardLink()).toBeNull();
    for (const path of ["/", "/ui/runs", "/ui/session"]) {
      expect([path, (await ask(gateway, "GET", path, {})).status]).toEqual([path, 404]);
    }
  });
});

describe("A session of the dashboard", () => {
  test("begins with the signing key or its hash, and its cookie is out of reach of scripts and other sites", async () => {
    const gateway = await bench.gateway(KEYS);
    const { setCookie, cookie } = await signIn(gateway, { key: ` ${SIGNING_KEY} ` });
    expect(setCookie).toMatch(/^holdfast_session=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect((await ask(gateway, "GET", "/v1/runs", { cookie })).status).toBe(200);
    expect((await ask(gateway, "GET", "/v1/runs", {})).status).toBe(401);
    const secure = await signIn(gateway, { key: SIGNING_KEY }, { origin: gateway.url.replace("http:", "https:") });
    expect(secure.setCookie).toContain("; Secure");
    for (const wrong of [{ key: "00".repeat(16) }, { key: KEYS.eventKey }, { key: "" }, { link: "x" }]) {
      const init = { method: "POST", headers: JSON_TYPE, body: JSON.stringify(wrong) };
      expect((await fetch(`${gateway.url}/ui/session`, init)).status).toBe(401);
    }
  });

  test("begins with a link of the gateway, once", async () => {
    const gateway = await bench.gateway(KEYS);
    const link = new URL(gateway.dashboardLink() ?? "").hash.replace("#link=", "");
    const { cookie } = await signIn(gateway, { link });
    expect((await ask(gateway, "GET", "/v1/runs", { cookie })).status).toBe(200);
    const init = { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ link }) };
    expect((await fetch(`${gateway.url}/ui/session`, init)).status).toBe(401);
  });

  test("changes something only with its token, and only from the gateway's own page", async () => {
    const gateway = await bench.gateway({ ...KEYS, allowedOrigins: ["https://app.example.com"] });
    const { cookie, csrf } = await signIn(gateway, { key: SIGNING_KEY });
    const own = { cookie, origin: gateway.url, "x-holdfast-csrf": csrf };
    const cancel = (headers: Record<string, string>): Promise<Answer> =>
      ask(gateway, "POST", "/v1/runs/01J0000000000000000000000A/cancel", headers);
    expect(await cancel(own)).toEqual({ status: 404, code: "NOT_FOUND" });
    expect(await cancel({ ...own, "x-holdfast-csrf": "" })).toEqual({ status: 403, code: "CSRF_REFUSED" });
    expect(await cancel({ cookie, origin: gateway.url })).toEqual({ status: 403, code: "CSRF_REFUSED" });
    const other = await signIn(gateway, { key: SIGNING_KEY });
    expect(await cancel({ ...own, "x-holdfast-csrf": other.csrf })).toEqual({ status: 403, code: "CSRF_REFUSED" });
    expect(await cancel({ cookie, "x-holdfast-csrf": csrf })).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
    // An origin that may send events may not use the session.
    const elsewhere = { ...own, origin: "https://app.example.com" };
    expect(await cancel(elsewhere)).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
    expect(await cancel({ ...own, cookie: `${SESSION_COOKIE}=x` })).toEqual({ status: 401, code: "UNAUTHORIZED" });
  });

  test("opens the API for people and nothing else", async () => {
    const gateway = await bench.gateway(KEYS);
    const { cookie, csrf } = await signIn(gateway, { key: SIGNING_KEY });
    const own = { cookie, origin: gateway.url, "x-holdfast-csrf": csrf };
    expect((await ask(gateway, "GET", "/dev", own)).status).toBe(401);
    expect((await ask(gateway, "GET", "/metrics", own)).status).toBe(401);
    expect((await ask(gateway, "POST", "/v0/connect/start", own)).status).toBe(401);
    expect((await ask(gateway, "POST", "/e/wrong", own)).status).toBe(401);
  });

  test("sends events without knowing the event key", async () => {
    const gateway = await bench.gateway(KEYS);
    const { cookie, csrf } = await signIn(gateway, { key: SIGNING_KEY });
    const headers = { ...JSON_TYPE, cookie, origin: gateway.url, "x-holdfast-csrf": csrf };
    const send = (body: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/events`, { method: "POST", headers, body });
    const { ids } = (await (await send('{"name":"shop/order","data":{"n":1}}')).json()) as { ids: string[] };
    expect(await bench.store.getEvent(ids[0] ?? "")).toMatchObject({ name: "shop/order" });
    expect((await send('{"name":"inngest/x"}')).status).toBe(400);
    expect((await send("{")).status).toBe(400);
  });

  test("sees the environment of its key alone", async () => {
    const preview = { name: "preview", kind: "signing" as const, key: "ab".repeat(16), environment: "preview" };
    const gateway = await bench.gateway({ ...KEYS, keys: [preview] });
    const { cookie } = await signIn(gateway, { key: preview.key });
    expect((await ask(gateway, "GET", "/v1/runs", { cookie })).status).toBe(200);
    const wide = { cookie, "x-inngest-env": "other" };
    expect(await ask(gateway, "GET", "/v1/runs", wide)).toEqual({ status: 403, code: "ENVIRONMENT_REFUSED" });
    const any = await signIn(gateway, { key: SIGNING_KEY });
    expect((await ask(gateway, "GET", "/v1/runs", { cookie: any.cookie, "x-inngest-env": "other" })).status).toBe(200);
  });

  test("goes on at another gateway with the key, and ends when it is signed out", async () => {
    const [first, second] = await Promise.all([bench.gateway(KEYS), bench.gateway(KEYS)]);
    const { cookie, csrf } = await signIn(first, { key: SIGNING_KEY });
    expect((await ask(second, "GET", "/v1/runs", { cookie })).status).toBe(200);
    expect((await ask(first, "DELETE", "/ui/session", { cookie })).status).toBe(403);
    const own = { cookie, origin: first.url, "x-holdfast-csrf": csrf };
    const out = await fetch(`${first.url}/ui/session`, { method: "DELETE", headers: own });
    expect(out.headers.get("set-cookie")).toMatch(/^holdfast_session=; Path=\/; Max-Age=0;/);
    expect((await ask(first, "GET", "/v1/runs", { cookie })).status).toBe(401);
  });
});

test("a read-only dashboard changes nothing, with keys and without; programs with the key do", async () => {
  const path = "/v1/runs/01J0000000000000000000000A/cancel";
  const refused = { status: 403, code: "DASHBOARD_READ_ONLY" };
  const closed = await bench.gateway({ ...KEYS, dashboard: "read-only" });
  const { cookie, csrf } = await signIn(closed, { key: SIGNING_KEY });
  const own = { cookie, origin: closed.url, "x-holdfast-csrf": csrf };
  expect(await ask(closed, "POST", path, own)).toEqual(refused);
  expect((await ask(closed, "GET", "/v1/runs", own)).status).toBe(200);
  expect((await ask(closed, "POST", path, { authorization: `Bearer ${SIGNING_KEY}` })).status).toBe(404);
  const open = await bench.gateway({ dashboard: "read-only" });
  expect(await ask(open, "POST", path, { origin: open.url })).toEqual(refused);
  expect(await ask(open, "POST", path, { "sec-fetch-site": "same-origin" })).toEqual(refused);
  expect(await ask(open, "POST", "/e/dev", { origin: open.url })).toEqual(refused);
  expect((await ask(open, "POST", path, {})).status).toBe(404);
});

test("without keys the page needs none, a link does no harm, and no cookie opens anything", async () => {
  const gateway = await bench.gateway();
  const state = (await (await fetch(`${gateway.url}/ui/session`)).json()) as { needsKey: boolean };
  expect(state.needsKey).toBe(false);
  const link = new URL(gateway.dashboardLink() ?? "").hash.replace("#link=", "");
  const { cookie } = await signIn(gateway, { link });
  const evil = { cookie, origin: "http://localhost:3000" };
  expect(await ask(gateway, "POST", "/e/dev", evil)).toEqual({ status: 403, code: "ORIGIN_REFUSED" });
});
