import { fakeClock } from "@holdfast/testing";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { GATEWAY_LIMITS } from "../../src/config/config.ts";
import { limitReads } from "../../src/http/read-limit.ts";

const { readPatienceMs, readPingMs } = GATEWAY_LIMITS;
const never = (): Promise<never> => new Promise(() => {});

test.each(["GET", "HEAD"])("a %s that a hanging database does not answer is refused after a while", async (method) => {
  const clock = fakeClock();
  const app = new Hono().use(limitReads({ store: { ping: never }, timers: clock })).get("/", never);
  app.onError((_, c) => c.text("refused", 503));
  const answer = app.request("/", { method });
  let status: number | null = null;
  void Promise.resolve(answer).then((response) => (status = response.status));
  await clock.advance(readPatienceMs);
  expect(status).toBe(null);
  await clock.advance(readPingMs);
  expect(status).toBe(503);
});
