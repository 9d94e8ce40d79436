import { expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";

const answeredBy = (status: number, body: string | null): HoldfastClient => {
  const fetch = async (): Promise<Response> => new Response(body, { status });
  return new HoldfastClient({ id: "shop", isDev: true, baseUrl: "http://gateway", fetch }, {});
};

test("a signal ends the wait of a run, or no run waits for it", async () => {
  const taken = answeredBy(200, JSON.stringify({ data: { run_id: "r" } }));
  expect(await taken.sendSignal({ signal: "go" })).toEqual({ runId: "r" });
  const alone = answeredBy(404, JSON.stringify({ error: "No run waits for it.", code: "NOT_FOUND", status: 404 }));
  expect(await alone.sendSignal({ signal: "go" })).toEqual({});
});

test.each([
  ["a page that asks to log in", 200, "<html>Sign in</html>"],
  ["JSON of something else", 200, "[]"],
  ["an empty answer", 204, null],
  ["a page of a proxy", 404, "<html>404 Not Found</html>"],
  ["JSON of a proxy", 404, '{"message":"no route"}'],
])("%s is no gateway's answer: the signal was not sent", async (_, status, body) => {
  const sent = answeredBy(status, body).sendSignal({ signal: "go" });
  await expect(sent).rejects.toMatchObject({ code: "SIGNAL_SEND_FAILED", status });
});
