import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeJsonBytes, type WorkerStall } from "@holdfast/protocol";
import { type NodeProcess, spawnNode } from "@holdfast/testing";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadThreadScript } from "../../src/thread-script.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

const source = fileURLToPath(new URL("./many-connections-app.ts", import.meta.url));
const COUNT = 8;
let folder: string;
let place: RegExp;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-many-"));
  await build({
    entryPoints: [source],
    outfile: join(folder, "app.mjs"),
    bundle: true,
    sourcemap: "linked",
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["esbuild"],
  });
  await writeFile(join(folder, "thread.cjs"), await loadThreadScript());
  const line = (await readFile(source, "utf8")).split("\n").findIndex((text) => text.endsWith("// mark: addUpNumbers"));
  place = new RegExp(`at addUpNumbers \\(.*many-connections-app\\.ts:${line + 1}:\\d+\\)`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let gateway: TestGateway;
let app: NodeProcess | undefined;
beforeEach(async () => {
  gateway = await startTestGateway({ lease: "100ms", extensions: ["checkpoint", "nack", "cancel", "stall"] });
});
afterEach(async () => {
  await app?.kill();
  await gateway.close();
});

async function start(count = COUNT, signals: readonly string[] = []): Promise<NodeProcess> {
  const settings = { url: gateway.url, workerUrl: join(folder, "thread.cjs"), count, signals };
  app = spawnNode(join(folder, "app.mjs"), { ipc: true, env: { MANY_CONNECTIONS_APP: JSON.stringify(settings) } });
  await gateway.peer(count);
  return app;
}

const HEAD = /^holdfast: The main thread has been blocked for/;
const END = /The main thread has been blocked for ([\d.]+) s.* It is responsive again\./;

/** Headlines of the reports on stderr, once the one line of the log says that it is over: none is false, none comes twice. */
async function reportsOf(process: NodeProcess): Promise<readonly string[]> {
  await until(() => countOf(process, '"onStall"') === COUNT, "each connection to call onStall");
  const end = await process.waitForLine(END, { timeoutMs: 30_000 });
  const { lines } = process;
  const heads = lines.filter((line) => HEAD.test(line));
  expect(heads.length).toBeGreaterThanOrEqual(1);
  // The first comes after 0.3 s, and their distances double.
  const most = Math.floor(Math.log2((Number(END.exec(end)?.[1]) + 0.1) / 0.3)) + 1;
  expect(heads.length, `${heads.join("\n")}\n${end}`).toBeLessThanOrEqual(most);
  expect(lines.filter((line) => line.includes("No stack is available"))).toEqual([]);
  expect(lines.filter((line) => END.test(line))).toHaveLength(1);
  return heads;
}

const countOf = ({ lines }: NodeProcess, text: string): number => lines.filter((line) => line.includes(text)).length;
const computing = (index: number, data: object) => ({
  appName: `app-${index}`,
  functionSlug: `app-${index}-fn`,
  requestPayload: encodeJsonBytes({
    version: 2,
    event: { id: "e", name: "n", data, ts: 1 },
    steps: {},
    ctx: { attempt: 0 },
  }),
});
/** What suffers from a machine that is busy elsewhere is named, too; that is another matter. */
const blocksOf = (peer: GatewayPeer): WorkerStall[] => peer.of("WORKER_STALL").filter(({ noCpu }) => !noCpu);
const peerOf = (index: number): GatewayPeer | undefined =>
  gateway.peers.find(({ connect }) => connect?.apps.some(({ appName }) => appName === `app-${index}`));

describe("A main thread that several connections watch", () => {
  it("code outside of functions that blocks it is reported once at a time, with its line", async () => {
    const process = await start();
    process.send({ blockMs: 1_500 });
    for (const head of await reportsOf(process)) {
      expect(head).toMatch(place);
      expect(head).toContain("outside of any function");
    }
    await until(() => gateway.peers.every((peer) => peer.of("WORKER_STALL").some(({ ended }) => ended)), "the frames");
  });

  it("the gateway of the connection whose function blocks it hears function, step and line, and other ones of no run", async () => {
    const process = await start();
    const mayGoOn = join(folder, `may-go-on-${randomUUID()}`);
    const peer = peerOf(5) as GatewayPeer;
    const { requestId, runId } = gateway.dispatch(peer, computing(5, { blockMs: 1_000, untilFile: mayGoOn }));
    const isNamed = ({ codeName }: { readonly codeName: string }): boolean => codeName === "addUpNumbers";
    await until(() => peer.of("WORKER_STALL").some(isNamed), "a report with its place");
    await writeFile(mayGoOn, "");
    const heads = await reportsOf(process);
    await until(() => peer.of("WORKER_STALL").find(({ ended }) => ended), "the end");
    const ended = peer.of("WORKER_STALL").find((stall) => stall.ended);
    expect(ended).toMatchObject({
      requestId,
      runId,
      functionSlug: "app-5-fn",
      stepId: "compute",
      codeName: "addUpNumbers",
    });
    for (const head of heads) {
      expect(head).toMatch(place);
      expect(head).toContain(`in function app-5-fn, step "compute", run ${runId}`);
    }
    const others = gateway.peers.filter((other) => other !== peer).flatMap(blocksOf);
    expect(others.filter((stall) => stall.runId !== "")).toEqual([]);
  });

  it("where each connection has work, the one whose function blocks it is found among them", async () => {
    const process = await start();
    const all = Array.from({ length: COUNT }, (_, index) => index);
    const sent = all.map((index) =>
      gateway.dispatch(peerOf(index) as GatewayPeer, computing(index, { blockMs: index === 2 ? 2_000 : 1 })),
    );
    const heads = await reportsOf(process);
    const blocked = sent[2];
    const stalls = (peerOf(2) as GatewayPeer).of("WORKER_STALL");
    expect(stalls.at(-1)).toMatchObject({
      ended: true,
      runId: blocked?.runId,
      stepId: "compute",
      codeName: "addUpNumbers",
    });
    for (const head of heads) expect(head).toContain(`run ${blocked?.runId}`);
    const others = all.filter((index) => index !== 2).flatMap((index) => blocksOf(peerOf(index) as GatewayPeer));
    expect(others.filter(({ runId }) => runId !== "")).toEqual([]);
  });
});

describe("A process with several connections that gets a signal", () => {
  it("each line says whose connection closes", async () => {
    const process = await start(3, ["SIGTERM"]);
    await process.kill("SIGTERM");
    const said = process.lines.filter((line) => line.includes("SIGTERM"));
    expect(said).toHaveLength(3);
    for (const index of [0, 1, 2]) expect(said.filter((line) => line.includes(`app-${index}`))).toHaveLength(1);
  });
});
