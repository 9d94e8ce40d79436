/** A process with several connections and one main thread, which blocks as it is told; bundled and run as a process of its own. */
import { existsSync } from "node:fs";
import { Holdfast } from "../../src/app/holdfast.ts";
import { connect } from "../../src/connection/main/connect.ts";

function addUpNumbers(ms: number, untilFile?: string): void {
  const end = Date.now() + ms;
  const from = process.cpuUsage();
  // As in stall-app.ts.
  // biome-ignore format: one line
  while (Date.now() < end || process.cpuUsage(from).user < ms * 500 || (untilFile && !existsSync(untilFile))); // mark: addUpNumbers
}

const { url, workerUrl, count, signals } = JSON.parse(process.env.MANY_CONNECTIONS_APP ?? "{}");
const say = (what: object): void => console.log(JSON.stringify(what));
const log = (...parts: readonly unknown[]): void => say({ logged: parts.find((part) => typeof part === "string") });
const logger = { debug: log, info: log, warn: log, error: log };

const connections = await Promise.all(
  Array.from({ length: count }, async (_, index) => {
    const client = new Holdfast({ id: `app-${index}`, isDev: true, baseUrl: url, logger });
    const fn = client.createFunction({ id: "fn", triggers: { event: "n" } }, ({ event, step }) =>
      step.run("compute", () => {
        const { blockMs, untilFile } = event.data as { blockMs: number; untilFile?: string };
        addUpNumbers(blockMs, untilFile);
      }),
    );
    return connect({
      apps: [{ client, functions: [fn] }],
      workerUrl,
      stallThreshold: "300ms",
      handleShutdownSignals: signals ?? [],
      onStall: ({ culprit, problem }) => say({ onStall: index, culprit, problem }),
    });
  }),
);
process.on("message", (message: { readonly blockMs?: number }) => {
  if (message.blockMs) return addUpNumbers(message.blockMs);
  process.disconnect?.();
  for (const connection of connections) void connection.close();
});
process.send?.("ready");
