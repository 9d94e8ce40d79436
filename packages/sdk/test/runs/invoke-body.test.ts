import { expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";

/** What `invoke()` sends for a deadline. */
async function sentDeadline(deadline: unknown): Promise<unknown> {
  const bodies: string[] = [];
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    bodies.push(String(init.body));
    return Response.json({ outcome: "started", functionId: "shop-order", runId: "A", eventId: "B", isNew: true });
  };
  const client = new HoldfastClient({ id: "shop", isDev: true, baseUrl: "http://gateway.test", fetch }, {});
  await client.invoke("shop-order", { deadline: deadline as never });
  return JSON.parse(bodies[0] ?? "null").deadline;
}

test("a deadline that is a duration goes as one: only the gateway knows the time it counts from", async () => {
  expect(await sentDeadline("90s")).toBe("90000ms");
  expect(await sentDeadline(1_500)).toBe("1500ms");
  expect(await sentDeadline(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
  expect(await sentDeadline(undefined)).toBeUndefined();
  await expect(sentDeadline("soon")).rejects.toMatchObject({ code: "DURATION_INVALID" });
});
