import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { gatewayClient } from "../../src/cli/gateway-client.ts";
import { closeServer } from "../../src/http/listen.ts";

/** Commands at a gateway that takes calls and does not answer them, as one whose database stands still. */

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function silentClient(health: RequestListener) {
  const server = createServer((request, response) => {
    if (request.url === "/health") health(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    server.closeAllConnections();
    return closeServer(server);
  });
  const { port } = server.address() as AddressInfo;
  return gatewayClient({ url: `http://127.0.0.1:${port}`, eventKey: "secret", timeoutMs: 300 });
}

const answers =
  (body: object): RequestListener =>
  (_, response) =>
    void response.end(JSON.stringify(body));
const send = (client: Awaited<ReturnType<typeof silentClient>>) => client.sendEvents([{ name: "a" }]);

describe("a gateway that takes a call and gives no answer", () => {
  test("is said to run where it still answers /health, with how its database is, and without the key", async () => {
    const away = await silentClient(answers({ ok: true, database: { ok: false, error: "connect ECONNREFUSED" } }));
    await expect(send(away)).rejects.toMatchObject({
      code: "GATEWAY_UNREACHABLE",
      message: expect.stringMatching(
        /^The gateway at http:\/\/127\.0\.0\.1:\d+ runs, but gave no answer to \/e\/… within 0\.3 s\. It took the call and waits for its database: connect ECONNREFUSED\. What was asked may still be done\.$/,
      ),
    });
    const still = await silentClient(answers({ ok: true, database: { ok: true, error: null } }));
    await expect(send(still)).rejects.toMatchObject({
      message: expect.stringContaining("the database may not answer"),
    });
  });

  test("is asked for where nothing answers at all", async () => {
    const hung = await silentClient(() => {});
    await expect(send(hung)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^No gateway answers at .* within 0\.3 s, and none to \/health\. .*Is it running\?/,
      ),
    });
    const stranger = await silentClient(answers({ hello: "world" }));
    await expect(send(stranger)).rejects.toMatchObject({ message: expect.stringMatching(/^No gateway answers at/) });
  });
});
