/** One run through a gateway, as an app would have it: connect, event, lease, request, reply, result in the store. */
import { createUlidFactory, messageOf, systemClock, systemRandom } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { PROBE_EVENT } from "../../probe.ts";
import { awaitRuns } from "../await-runs.ts";
import type { GatewayClient } from "../gateway-client.ts";
import type { Output } from "../output.ts";
import { type Check, fail, ok } from "./check.ts";
import { connectProbe, NotRecorded } from "./probe-worker.ts";

const RUN_MS = 15_000;

export interface RoundTripOptions {
  readonly client: GatewayClient;
  readonly environment: string | undefined;
  readonly output: Output;
}

export async function roundTripChecks({ client, environment, output }: RoundTripOptions): Promise<Check[]> {
  const instanceId = `doctor-${createUlidFactory(systemClock, systemRandom)()}`;
  const beganMs = systemClock.monotonicMs();
  const since = (ms: number): string => `${Math.round(systemClock.monotonicMs() - ms)} ms`;
  let connected: Check;
  let worker: Awaited<ReturnType<typeof connectProbe>>;
  try {
    worker = await connectProbe({ url: client.url, headers: await client.headers(), environment, instanceId });
    connected = ok("connect", `a worker connects to ${client.url} in ${since(beganMs)}`);
  } catch (error) {
    return [await notConnected(client, error)];
  }
  try {
    const sentMs = systemClock.monotonicMs();
    const {
      ids: [eventId = ""],
    } = await client.sendEvents([{ name: PROBE_EVENT, data: { instanceId } }]);
    await worker.answered();
    const { runIds } = await client.get<{ runIds: readonly string[] }>(`/v1/events/${eventId}`);
    const [run] = await awaitRuns(client, runIds, { output, timeoutMs: RUN_MS });
    if (run?.status === "COMPLETED") {
      await forget(client, runIds);
      return [connected, ok("round trip", `event, run, lease, reply and stored result in ${since(sentMs)}`)];
    }
    const fix = `see "holdfast-gateway run ${runIds[0] ?? ""}", and the gateway's log`;
    return [connected, fail("round trip", `the run of an event is ${run?.status.toLowerCase() ?? "missing"}`, fix)];
  } catch (error) {
    return [connected, fail("round trip", messageOf(error), "see the gateway's log")];
  } finally {
    worker.close();
  }
}

const COMMITS =
  "see whether the database's commits end: a standby that has to confirm them (synchronous_standby_names) may be away, its disk full or slow, or a lock held";

/** A gateway that was reached and took no worker waits for its database: proxies and keys have let the worker through. */
async function notConnected(client: GatewayClient, error: unknown): Promise<Check> {
  const message = `no worker can connect to ${client.url}: ${messageOf(error)}`;
  const database = await client.get<{ readonly database?: unknown }>("/health").then(
    (answer) => answer.database,
    () => null,
  );
  if (isRecord(database) && database.ok === false) {
    const why = `the gateway's database does not let it write: ${String(database.error)}`;
    return fail("database", `${why}; ${message}`, COMMITS);
  }
  if (error instanceof NotRecorded) {
    return fail("database", `the gateway was reached, and could not store that a worker is there; ${message}`, COMMITS);
  }
  const fix = "check that proxies in between pass WebSockets on, and that the signing key is the gateway's";
  return fail("connect", message, fix);
}

/** A run that was made to try a gateway is of no use to those who look at its runs. */
async function forget(client: GatewayClient, runIds: readonly string[]): Promise<void> {
  for (const runId of runIds) await client.delete(`/v1/runs/${encodeURIComponent(runId)}`).catch(() => undefined);
}
