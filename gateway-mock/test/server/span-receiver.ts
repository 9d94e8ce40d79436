/** A receiver of OTLP over HTTP that keeps which traces the spans belong to. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function startReceiver() {
  const ids: string[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    ids.push(...[...text.matchAll(/"traceId":"([0-9a-f]{32})"/g)].map(([, id = ""]) => id));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traceIds: (): readonly string[] => ids,
    stop: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
