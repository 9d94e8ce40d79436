import { describe, expect, test } from "vitest";
import { hashSigningKey } from "../../src/http/keys.ts";
import { SIGNING_KEY, useGateway } from "../server/harness.ts";
import { routeTable } from "./route-table.ts";

const bench = useGateway();
const KEYS = { signingKey: SIGNING_KEY, eventKey: "the-event-key" };
const SIGNED = { Authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
const HERE = { Host: "localhost" };
/** The only routes that answer anybody. */
const OPEN = ["GET /health", "GET /ready", "GET /ui/session", "POST /ui/session", "DELETE /ui/session"];

describe("Routes of a gateway with keys", () => {
  test("every route requires a key, except those listed as open", async () => {
    const gateway = await bench.gateway({ ...KEYS, virtualTime: true });
    const { routes } = routeTable(bench.store, KEYS);
    expect(routes.length).toBeGreaterThan(12);
    const answers = async (headers: Record<string, string>): Promise<Map<string, number>> => {
      const all = routes.map(async ({ name, method, path }) => {
        const response = await fetch(`${gateway.url}${path}`, { method, headers });
        // Those that follow runs do not end.
        await response.body?.cancel();
        return [name, response.status] as const;
      });
      return new Map(await Promise.all(all));
    };
    const bare = [...(await answers({}))];
    expect(bare.filter(([, status]) => status !== 401).map(([name]) => name)).toEqual(OPEN);
    const wrong = [...(await answers({ Authorization: `Bearer ${hashSigningKey("00".repeat(16))}` }))];
    expect(wrong.filter(([, status]) => status !== 401).map(([name]) => name)).toEqual(OPEN);
    // The signing key opens all of them but the intake of events, whose key is in its path.
    const signed = [...(await answers(SIGNED))];
    expect(signed.filter(([, status]) => status === 401).map(([name]) => name)).toEqual(["POST /e/:key"]);
  });

  test("a newly added route requires a key, whatever its name", async () => {
    const paths = ["/new", "/healthy", "/health/more", "/ready/", "/e/key/more", "/v2/x", "/ui.json"];
    const { app } = routeTable(bench.store, KEYS, (planted) => {
      for (const path of paths) planted.all(path, (c) => c.text("secret"));
    });
    for (const path of [...paths, "/nowhere"]) {
      for (const method of ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]) {
        expect([path, method, (await app.request(path, { method, headers: HERE })).status]).toEqual([
          path,
          method,
          401,
        ]);
      }
    }
    expect((await app.request("/new", { headers: { ...HERE, ...SIGNED } })).status).toBe(200);
  });

  test("the event key grants access to sending events only, the signing key to everything else", async () => {
    const gateway = await bench.gateway(KEYS);
    const status = async (path: string, init?: RequestInit): Promise<number> =>
      (await fetch(`${gateway.url}${path}`, init)).status;
    const event = { method: "POST", body: '{"name":"shop/order","data":{"secret":"s3cr3t"}}' };
    const sent = (await (await fetch(`${gateway.url}/e/${KEYS.eventKey}`, event)).json()) as { ids: string[] };
    expect(sent.ids).toHaveLength(1);
    for (const key of ["wrong", "", "%ff", "the-event-key%00", hashSigningKey(SIGNING_KEY)]) {
      expect([key, await status(`/e/${key}`, { ...event, headers: SIGNED })]).toEqual([key, key === "" ? 404 : 401]);
    }
    const refusal = async (key: string): Promise<unknown> =>
      ((await (await fetch(`${gateway.url}/e/${key}`, event)).json()) as { error?: unknown }).error;
    expect(await refusal("NO_EVENT_KEY_SET")).toContain("The event key is missing.");
    expect(await refusal("wrong")).toContain("The event key is wrong.");
    for (const path of [`/v1/events/${sent.ids[0]}`, "/v1/runs", "/v1/metrics", "/dev"]) {
      expect(await status(path)).toBe(401);
      expect(await status(path, { headers: { Authorization: `Bearer ${KEYS.eventKey}` } })).toBe(401);
      expect(await status(path, { headers: { Authorization: `Bearer ${SIGNING_KEY}` } })).toBe(200);
      expect(await status(path, { headers: { Authorization: `Bearer ${SIGNING_KEY}0` } })).toBe(401);
      expect(await status(path, { headers: SIGNED })).toBe(200);
    }
  });
});

test("without keys, on this machine, every route is open", async () => {
  const gateway = await bench.gateway();
  for (const path of ["/health", "/ready", "/v1/metrics", "/v1/runs", "/dev"]) {
    expect([path, (await fetch(`${gateway.url}${path}`)).status]).toEqual([path, 200]);
  }
});
