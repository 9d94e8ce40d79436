/** The smallest app: it says when it is connected, and how long that took. */
import { serveTest } from "../fixtures/serve-test.mjs";

const began = performance.now();
/** @type {typeof import("holdfast")} */
const { Holdfast } = await import(process.env.BENCH_SDK ?? "holdfast");
const importMs = performance.now() - began;

// Standard output is for results. Builds that are compared may be older than the option.
process.env.HOLDFAST_LOG_LEVEL ??= "warn";
const client = new Holdfast({ id: "start" });
const fn = client.createFunction({ id: "one", triggers: { event: "start/one" } }, () => "done");
const from = performance.now();
const connection = await client.connect({ functions: [fn] });
const to = performance.now();
const { user, system } = process.cpuUsage();
process.send?.({ at: performance.timeOrigin + to, importMs, connectMs: to - from, cpuMs: (user + system) / 1000 });

serveTest({ close: () => connection.close() });
