import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeJsonBytes, type WorkerFrame, type WorkerStall } from "@holdfast/protocol";
import { type NodeProcess, spawnNode } from "@holdfast/testing";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SerializableConfig } from "../../src/connection/shared/serializable-config.ts";
import { loadThreadScript } from "../../src/thread-script.ts";
import { testConfig } from "./harness.ts";
import { canStarve, starve } from "./starve.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

const source = fileURLToPath(new URL("./stall-app.ts", import.meta.url));
let folder: string;
let line: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-stall-"));
  // Small, on one line, with its map in a file beside it: as apps are shipped.
  await build({
    entryPoints: [source],
    outfile: join(folder, "app.mjs"),
    bundle: true,
    minify: true,
    keepNames: true,
    sourcemap: "linked",
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["esbuild"],
  });
  await writeFile(join(folder, "thread.cjs"), await loadThreadScript());
  line = (await readFile(source, "utf8")).split("\n").findIndex((text) => text.endsWith("// mark: addUpNumbers")) + 1;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let gateway: TestGateway;
let app: NodeProcess | undefined;
/** A file that ends a block which lasts until the test has seen enough. */
let mayGoOn: string;
beforeEach(async () => {
  const extensions = ["checkpoint", "nack", "cancel", "stall"] as const;
  gateway = await startTestGateway({ heartbeat: "1s", lease: "100ms", extensions });
  mayGoOn = join(folder, `may-go-on-${randomUUID()}`);
});
afterEach(async () => {
  await app?.kill();
  await gateway.close();
});

async function start(
  stall: Partial<SerializableConfig["stall"]>,
  extensions = gateway.script.extensions,
  isFair = false,
): Promise<GatewayPeer> {
  const policy = { thresholdMs: 300, maxStallMs: null, noStack: null, ...stall };
  const config = testConfig(gateway.url, { extensions, stall: policy });
  const scriptPath = join(folder, "thread.cjs");
  app = spawnNode(join(folder, "app.mjs"), {
    ipc: true,
    env: { STALL_APP: JSON.stringify({ config, scriptPath, isFair }) },
  });
  return gateway.peer();
}

const kinds = (peer: GatewayPeer): string[] => peer.frames.map(({ kind }) => kind);
const request = (work: object): { requestPayload: Uint8Array } => ({
  requestPayload: encodeJsonBytes({ version: 2, ...work }),
});

describe("A blocked main thread", () => {
  it("a blocked main thread is reported with its source line, pauses intake and is ready again before its reply", async () => {
    const peer = await start({});
    const { requestId, runId } = gateway.dispatch(peer, request({ blockMs: 1_500, untilFile: mayGoOn }));
    const sincePause = (kind: string): number => {
      const all = kinds(peer);
      return all.includes("WORKER_PAUSE")
        ? all.slice(all.indexOf("WORKER_PAUSE")).filter((one) => one === kind).length
        : 0;
    };
    await until(() => peer.of("WORKER_STALL").some(({ codeName }) => codeName === "addUpNumbers"), "a report");
    await until(() => sincePause("WORKER_HEARTBEAT") > 2, "heartbeats");
    await until(() => sincePause("WORKER_REQUEST_EXTEND_LEASE") > 3, "extended leases");
    expect(peer.of("WORKER_REPLY")).toEqual([]);
    await writeFile(mayGoOn, "");
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    await until(() => peer.of("WORKER_READY")[1], "that it is ready again");
    // On a busy machine there may be others before: the thread was given no processor, or too little.
    const stalls = peer.of("WORKER_STALL").filter(({ codeName }) => codeName === "addUpNumbers");
    expect(stalls.length).toBeGreaterThanOrEqual(2);
    for (const stall of stalls) {
      expect(stall).toMatchObject({
        requestId,
        runId,
        functionSlug: "app-fn",
        stepId: "add up",
        codeName: "addUpNumbers",
      });
      expect(stall.location).toMatch(new RegExp(`stall-app\\.ts:${line}:\\d+$`));
    }
    expect(stalls.map(({ ended }) => ended)).toEqual([...stalls.slice(1).map(() => false), true]);
    expect(new Set(stalls.map(({ sequence }) => sequence)).size).toBe(stalls.length);
    const frames = kinds(peer).filter((kind) => kind !== "WORKER_HEARTBEAT" && kind !== "WORKER_REQUEST_EXTEND_LEASE");
    expect(frames.indexOf("WORKER_PAUSE")).toBeLessThan(frames.indexOf("WORKER_STALL"));
    expect(frames.lastIndexOf("WORKER_STALL")).toBeLessThan(frames.indexOf("WORKER_REPLY"));
  });

  it("a main thread that sleeps in a system call is blocked, although it takes no processor", async () => {
    const peer = await start({});
    gateway.dispatch(peer, request({ sleepMs: 1_500 }));
    await until(() => peer.of("WORKER_STALL").find(({ noCpu }) => !noCpu), "that it is blocked");
  });

  it.skipIf(!canStarve())(
    "a main thread that is given no processor is told from a blocked one, and no code is to blame",
    async () => {
      // Also on a busy machine it is to be one and the same connection.
      gateway.script.heartbeat = "10s";
      const peer = await start({});
      const pid = app?.pid ?? 0;
      const starvation = starve(pid);
      try {
        // Each is done in a moment, once it has a processor; until the others take it there may be some.
        const sent: string[] = [];
        const report = (): WorkerStall | undefined => {
          const isDone = peer.of("WORKER_REPLY").length === sent.length;
          if (isDone) sent.push(gateway.dispatch(peer, request({ blockMs: 60 })).requestId);
          // A busy machine may have kept it from starting, too: then nothing was at work.
          return peer.of("WORKER_STALL").find(({ requestId }) => requestId !== "");
        };
        const stall = await until(report, "a report");
        expect(stall).toMatchObject({ noCpu: true, codeName: "", location: "", stack: "" });
        // The next one may have been sent before the report was seen.
        expect(sent.slice(-2)).toContain(stall.requestId);
      } finally {
        starvation.end();
      }
      const line = await app?.waitForLine((text) => text.includes("NO_CPU_TIME"));
      expect(line).toContain("No function is to blame.");
      expect(app?.lines.join()).not.toContain("has been blocked for");
    },
    120_000,
  );

  it("a process that was stopped and goes on has blocked nothing", async () => {
    await start({});
    const pid = app?.pid ?? 0;
    const all = <Kind extends WorkerFrame["kind"]>(kind: Kind) => gateway.peers.flatMap((peer) => peer.of(kind));
    for (let stop = 0; stop < 3; stop += 1) {
      const before = all("WORKER_HEARTBEAT").length;
      process.kill(pid, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 700));
      process.kill(pid, "SIGCONT");
      await until(() => all("WORKER_HEARTBEAT").length > before + 2, "heartbeats");
    }
    expect(all("WORKER_STALL").filter(({ noCpu }) => !noCpu)).toEqual([]);
  });

  it("where no stack can ever be read, that is written with the first report only", async () => {
    const peer = await start({ noStack: "this runtime shows none." });
    gateway.dispatch(peer, request({ blockMs: 1_500, untilFile: mayGoOn }));
    const linesWith = (text: string): readonly string[] => app?.lines.filter((line) => line.includes(text)) ?? [];
    const reports = () => linesWith("holdfast: The main thread has been blocked for");
    await until(() => reports().length >= 3, "three reports");
    await writeFile(mayGoOn, "");
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(reports().at(-1)).toContain("probably in function app-fn");
    expect(linesWith("No stack is available")).toEqual(["    No stack is available: this runtime shows none."]);
  });

  it("a blocked main thread is not announced on the plain protocol, where a pause is final", async () => {
    gateway.script.extensions = [];
    // Also on a busy machine it is to be one and the same connection.
    gateway.script.heartbeat = "10s";
    const peer = await start({});
    gateway.dispatch(peer, request({ blockMs: 1_500 }));
    await app?.waitForLine((text) => text.startsWith("holdfast: The main thread has been blocked"));
    const next = gateway.dispatch(peer, request({}));
    await until(() => peer.of("WORKER_REPLY").find(({ requestId }) => requestId === next.requestId), "the next reply");
    expect(kinds(peer)).not.toContain("WORKER_PAUSE");
    expect(peer.of("WORKER_READY")).toHaveLength(1);
    expect(kinds(peer)).not.toContain("WORKER_STALL");
  });
});

describe("A main thread that is blocked by one of many bodies", () => {
  it("the report names the body that computes, not those that wait for their turn or gave it theirs", async () => {
    const peer = await start({}, undefined, true);
    const compute = (blockMs: number): { requestPayload: Uint8Array } =>
      request({ event: { id: "e", name: "n", data: { blockMs }, ts: 1 }, steps: {}, ctx: { attempt: 0 } });
    // Each of the short ones uses its turn up, so that the next one starts from the queue.
    const sent = Array.from({ length: 12 }, (_, index) => gateway.dispatch(peer, compute(index === 7 ? 1_500 : 15)));
    await until(() => peer.of("WORKER_REPLY").length === sent.length, "all replies");
    // On a machine that is busy elsewhere there may be shorter ones, too.
    const isLong = ({ ended, stalledMs }: { ended: boolean; stalledMs: number }): boolean => ended && stalledMs > 1_000;
    const ended = await until(() => peer.of("WORKER_STALL").find(isLong), "the end of the stall");
    const { requestId, runId } = sent[7]!;
    expect(ended).toMatchObject({ requestId, runId, functionSlug: "app-fn", stepId: "compute" });
    expect(ended.codeName).toBe("addUpNumbers");
    expect(ended.location).toMatch(new RegExp(`stall-app\\.ts:${line}:\\d+$`));
    expect(ended.waiting).toBeGreaterThan(0);
    expect(await app?.waitForLine((text) => text.includes(`, step "compute", run ${runId}`))).toBeTruthy();
  });
});

describe("maxStall", () => {
  it("maxStall returns all running requests, rejects new ones and reclaims the leases before becoming ready", async () => {
    const peer = await start({ maxStallMs: 600 });
    const waiting = gateway.dispatch(peer, request({ waitMs: 2_500 }));
    const blocking = gateway.dispatch(peer, request({ blockMs: 1_000, untilFile: mayGoOn }));
    const nacks = await until(
      () => (peer.of("WORKER_REQUEST_NACK").length >= 2 ? peer.of("WORKER_REQUEST_NACK") : null),
      "two refusals",
    );
    expect(new Set(nacks.map(({ requestId }) => requestId))).toEqual(new Set([waiting.requestId, blocking.requestId]));
    expect(nacks.every(({ reason }) => reason === "STALLED")).toBe(true);
    const late = gateway.dispatch(peer, request({}));
    const refused = await until(() => peer.of("WORKER_REQUEST_NACK")[2], "the third refusal");
    expect(refused).toMatchObject({ requestId: late.requestId, reason: "STALLED" });
    const givenUpAt = peer.frames.length;
    await writeFile(mayGoOn, "");

    await until(() => peer.of("WORKER_READY")[1], "that it is ready again");
    const since = peer.frames.slice(givenUpAt);
    const readyAt = since.findIndex(({ kind }) => kind === "WORKER_READY");
    const asked = since.flatMap((frame, at) =>
      frame.kind === "WORKER_REQUEST_EXTEND_LEASE" ? [{ at, id: frame.requestId }] : [],
    );
    expect(new Set(asked.filter(({ at }) => at < readyAt).map(({ id }) => id))).toEqual(
      new Set([waiting.requestId, blocking.requestId]),
    );
    // The leases were granted again: both results are welcome.
    await until(() => peer.of("WORKER_REPLY").length === 2, "both replies");
  });

  it("when another worker has the lease after a stall, the signal fires and no reply is sent", async () => {
    const peer = await start({ maxStallMs: 600 });
    // Longer than main is blocked, however slow the machine: its signal ends it.
    const waiting = gateway.dispatch(peer, request({ waitMs: 600_000 }));
    gateway.dispatch(peer, request({ blockMs: 1_500 }));
    await until(() => peer.of("WORKER_REQUEST_NACK")[0], "a refusal");
    gateway.script.extendLeases = false;
    await app?.waitForLine(`aborted ${waiting.requestId}`);
    gateway.script.extendLeases = true;
    const probe = gateway.dispatch(peer, request({}));
    await until(() => peer.of("WORKER_REPLY").find(({ requestId }) => requestId === probe.requestId), "a later reply");
    expect(peer.of("WORKER_REPLY").map(({ requestId }) => requestId)).not.toContain(waiting.requestId);
  });

  it("maxStall on the plain protocol lets the leases expire", async () => {
    gateway.script.extensions = [];
    const peer = await start({ maxStallMs: 600 });
    gateway.dispatch(peer, request({ blockMs: 1_000, untilFile: mayGoOn }));
    await app?.waitForLine((text) => text.includes("Its requests were returned"));
    const extended = peer.of("WORKER_REQUEST_EXTEND_LEASE").length;
    const beats = peer.of("WORKER_HEARTBEAT").length;
    // In an interval of heartbeats there would be ten extensions; one may have been on its way.
    await until(() => peer.of("WORKER_HEARTBEAT").length >= beats + 2, "two heartbeats");
    expect(peer.of("WORKER_REQUEST_EXTEND_LEASE").length - extended).toBeLessThan(3);
    await writeFile(mayGoOn, "");
    await until(() => peer.of("WORKER_REPLY")[0], "the late reply");
    expect(kinds(peer)).not.toContain("WORKER_REQUEST_NACK");
  });
});
