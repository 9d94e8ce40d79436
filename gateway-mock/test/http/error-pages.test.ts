import { ERROR_CATALOGUE } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { resolveConfig } from "../../src/config/config.ts";
import { errorDocsAt, errorPageOf } from "../../src/http/page/error-page.ts";
import type { Gateway } from "../../src/server.ts";
import { SIGNING_KEY, useGateway } from "../server/harness.ts";
import { ask } from "./route-table.ts";

const bench = useGateway();
const KEYS = { signingKey: SIGNING_KEY, eventKey: "the-event-key" };

/** What an answer with an error names as its page. */
async function docsOf(gateway: Gateway, path: string, init?: RequestInit): Promise<string | undefined> {
  const response = await fetch(`${gateway.url}${path}`, init);
  expect(response.ok).toBe(false);
  const { code, docs } = (await response.json()) as { code: string; docs?: string };
  if (docs !== undefined) expect(docs.endsWith(`/errors/${code}`)).toBe(true);
  return docs;
}

describe("The page of an error", () => {
  test("says of every code what `explain` says, to anyone, without a script", async () => {
    const gateway = await bench.gateway(KEYS);
    const response = await fetch(`${gateway.url}/errors/OPTION_MISSING`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src|unsafe|https?:|\*|data:/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const html = await response.text();
    expect(html).not.toMatch(/<script|<style|\bon\w+=|\bstyle=/);
    expect(html).toMatch(/<link rel="stylesheet"[^>]* href="\/ui\/assets\/[^"]+\.css">/);
    const head = await fetch(`${gateway.url}/errors/option_missing`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const list = await (await fetch(`${gateway.url}/errors`)).text();
    for (const code of Object.keys(ERROR_CATALOGUE)) expect(list).toContain(`href="/errors/${code}"`);
  });

  test("has cause and fix of each code in the catalogue, with code as code", () => {
    for (const [code, { summary, fix }] of Object.entries(ERROR_CATALOGUE)) {
      const { status, html } = errorPageOf(code, "");
      expect(status).toBe(200);
      const text = html.replaceAll(/<[^>]+>/g, "");
      for (const part of [summary, fix]) expect(text).toContain(escaped(part.replaceAll("`", "")));
    }
    expect(errorPageOf("SIGNING_KEY_INVALID", "").html).toContain("<code>openssl rand -hex 32</code>");
  });

  test("of a code that there is not is 404, and offers the nearest", async () => {
    const gateway = await bench.gateway();
    const response = await fetch(`${gateway.url}/errors/OPTION_MISING`);
    expect(response.status).toBe(404);
    const html = await response.text();
    expect(html.indexOf('href="/errors/OPTION_MISSING"')).toBeLessThan(html.indexOf('href="/errors/OPTION_INVALID"'));
    const evil = await fetch(`${gateway.url}/errors/${encodeURIComponent("<img src=x onerror=alert(1)>")}`);
    expect(evil.status).toBe(404);
    expect(await evil.text()).not.toContain("<IMG");
    const long = await fetch(`${gateway.url}/errors/${"A".repeat(5_000)}`);
    expect([long.status, (await long.text()).length < 5_000]).toEqual([404, true]);
    expect((await fetch(`${gateway.url}/errors/%E0%A4%A`)).status).toBe(404);
    expect((await fetch(`${gateway.url}/errors/A/B`)).headers.get("content-type")).toBe("application/json");
  });

  test("may be opened from a link elsewhere; no other page may load it, and no other name leads to it", async () => {
    const { url } = await bench.gateway();
    const visit = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await ask(url, { method: "GET", path: "/errors/INTERNAL" }, headers)).status;
    expect(await statusOf(visit)).toBe(200);
    expect(await statusOf({ ...visit, "sec-fetch-dest": "iframe" })).toBe(403);
    expect(await statusOf({ ...visit, Host: "evil.example" })).toBe(421);
  });
});

describe("The address of its page, in an error", () => {
  test("is the gateway's own where it has no keys and this machine alone can call", async () => {
    const gateway = await bench.gateway();
    const docs = await docsOf(gateway, "/v1/runs/none");
    expect(docs).toBe(`${gateway.url}/errors/NOT_FOUND`);
    expect((await fetch(docs ?? "")).status).toBe(200);
    expect(await docsOf(gateway, "/nowhere")).toBe(`${gateway.url}/errors/NOT_FOUND`);
    const events = { method: "POST", body: "{" };
    expect(await docsOf(gateway, "/e/dev", events)).toBe(`${gateway.url}/errors/BODY_INVALID`);
    const large = { method: "POST", body: "x".repeat(17 * 1024 * 1024) };
    expect(await docsOf(gateway, "/e/dev", large)).toBe(`${gateway.url}/errors/BODY_TOO_LARGE`);
  });

  test("is below the address that the gateway was given, and is in no error without one", async () => {
    const known = await bench.gateway({ ...KEYS, publicUrl: "https://gateway.example.com/" });
    expect(await docsOf(known, "/v1/runs")).toBe("https://gateway.example.com/errors/UNAUTHORIZED");
    expect(known.dashboardLink()).toMatch(/^https:\/\/gateway\.example\.com\/#link=/);
    const proxied = { Host: "gateway.example.com" };
    expect((await ask(known.url, { method: "GET", path: "/errors/INTERNAL" }, proxied)).status).toBe(200);
    const unknown = await bench.gateway(KEYS);
    expect(await docsOf(unknown, "/v1/runs")).toBeUndefined();
    const pageless = await bench.gateway({ dashboard: "off" });
    expect(await docsOf(pageless, "/v1/runs/none")).toBeUndefined();
    expect((await fetch(`${pageless.url}/errors/INTERNAL`)).status).toBe(404);
  });

  test("is below a scheme and a name, without a path", () => {
    for (const publicUrl of ["gateway.example.com", "https://a/b", "https://a?x", "ftp://a", "https://u:p@a", ""]) {
      expect(() => resolveConfig({ publicUrl })).toThrow(/publicUrl/);
    }
    expect(resolveConfig({ publicUrl: "https://A.example:8443/" }).publicUrl).toBe("https://a.example:8443");
    expect(errorDocsAt(undefined)("INTERNAL")).toBeUndefined();
  });
});

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one).replaceAll("'", "&#39;");
