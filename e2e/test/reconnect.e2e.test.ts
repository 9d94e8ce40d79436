import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { waitFor } from "@holdfast/testing";
import { type Connection, Holdfast } from "holdfast";
import { expect, onTestFinished, test } from "vitest";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";

/** A gateway that is restarted while an app is connected in development, as one that is worked on is all day. */

async function gatewayAt(port: number): Promise<RunningGateway> {
  const gateway = await startGateway({ port, args: ["--store", "memory"] });
  onTestFinished(async () => void (await gateway.child.kill()));
  return gateway;
}

/** Takes connections and ends them, as a port does behind which nothing is ready; says how often it was tried. */
async function nothingAt(port: number): Promise<{ readonly tries: () => number; readonly end: () => Promise<void> }> {
  let tries = 0;
  const server: Server = createServer((socket) => {
    tries += 1;
    socket.destroy();
  });
  const end = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  onTestFinished(end);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return { tries: () => tries, end };
}

const attemptsOf = (connection: Connection): number => connection.debugState().thread?.reconnectAttempts ?? 0;

test("in development an app tries on while its gateway is away, and the first try after its return connects", async () => {
  const first = await gatewayAt(0);
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: first.url, logLevel: "off" });
  const order = app.createFunction({ id: "order" }, () => "done");
  const connection = await app.connect({ functions: [order], handleShutdownSignals: [] });
  onTestFinished(() => connection.close());
  const most = { attempts: 0 };
  const look = setInterval(() => {
    most.attempts = Math.max(most.attempts, attemptsOf(connection));
  }, 20);
  onTestFinished(() => clearInterval(look));
  expect(await (await app.invoke(order)).result()).toBe("done");

  await first.child.kill();
  const away = await nothingAt(first.port);
  // More often than it takes until the pauses between two tries have their full length.
  await waitFor(() => away.tries() >= 8 || undefined, { what: "the app to try on" });
  await away.end();

  const second = await gatewayAt(first.port);
  const before = attemptsOf(connection);
  expect(before).toBeGreaterThanOrEqual(8);
  await waitFor(() => connection.state === "ACTIVE" || undefined, { what: "the app to be connected again" });
  expect(second.port).toBe(first.port);
  // One may have been on its way while the gateway became ready; the next one connects.
  expect(most.attempts - before).toBeLessThanOrEqual(2);
  expect(await (await app.invoke(order)).result()).toBe("done");
});
