import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway } from "@holdfast/gateway";
import { Holdfast } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { type Outcome, shell } from "../support/terminal.ts";

/** The commands that make things go wrong, in a pipe, against a gateway with a worker of the real SDK. */

const program = `${process.execPath} ${gatewayBin}`;
const cleanUps: (() => unknown)[] = [];
let url = "";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-faults-"));
  cleanUps.push(() => rm(folder, { recursive: true }));
  const gateway = await startGateway({
    port: 0,
    store: "memory",
    logRuns: "off",
    faults: true,
    virtualTime: true,
    leaseMs: 4_000,
    heartbeatMs: 1_000,
  });
  cleanUps.push(() => gateway.close());
  url = gateway.url;
  const shop = new Holdfast({ id: "shop", isDev: true, baseUrl: url, logLevel: "off" });
  const ledger = join(folder, "ledger");
  await writeFile(ledger, "");
  const functions = [
    shop.createFunction({ id: "good", triggers: [] }, async ({ step }) => {
      const card = await step.run("charge", () => "4242");
      await step.sleep("rest", "1h");
      return step.run("pack", () => card);
    }),
    shop.createFunction({ id: "bad", triggers: [] }, async ({ step, runId }) => {
      await writeFile(ledger, `${runId} mailed\n`, { flag: "a" });
      return step.run("charge", () => 1);
    }),
  ];
  const connection = await shop.connect({ functions, instanceId: "web-1", handleShutdownSignals: [] });
  cleanUps.push(() => connection.close());
});

afterAll(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

const run = (args: string): Promise<Outcome> =>
  shell(`${program} ${args}`, { env: { HOLDFAST_GATEWAY_URL: url }, cwd: folder });

test("faults are added, listed, shown in the history and cleared, as text and as JSON", async () => {
  const added = await run("fault add refuse-database --operation intake --count 1 --seed 5 --json");
  expect([added.code, JSON.parse(added.stdout)]).toMatchObject([0, { what: "refuse-database", seed: 5, happened: 0 }]);
  const { id } = JSON.parse(added.stdout) as { id: string };
  expect((await run("send shop/nothing")).code).not.toBe(0);
  const listed = await run("fault");
  expect(listed.stdout).toMatch(new RegExp(`${id} +refuse-database +over +1 +1 +5 +operation=intake`));
  const history = await run("fault history");
  expect(history.stdout).toContain("intake: refused");
  expect((await run(`fault clear ${id}`)).stdout).toContain(`${id}  removed`);
  expect((await run("fault")).stderr).toContain("No fault was asked for.");
});

test("what is typed wrongly is refused before anything is sent, and what the gateway refuses is said", async () => {
  const typo = await run("fault add dorp");
  expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining('Did you mean "drop"?')]);
  const kind = await run("fault add drop --kind WORKER_RELPY");
  expect([kind.code, kind.stderr]).toEqual([2, expect.stringContaining('Did you mean "WORKER_REPLY"?')]);
  expect((await run("fault add delay --delay soon")).code).toBe(2);
});

test("a script is played step by step; one that is wrong is refused as a whole", async () => {
  const script = [{ add: { what: "delay", delayMs: 1 } }, { wait: "10ms" }, { add: { what: "refuse-start" } }];
  await writeFile(join(folder, "bad-minute.json"), JSON.stringify([...script, { clear: true }]));
  const played = await run("fault run bad-minute.json");
  expect([played.code, played.stdout]).toEqual([
    0,
    expect.stringMatching(/1\/4 .*\n2\/4 .*\n3\/4 .*\n4\/4 +2 removed/),
  ]);
  await writeFile(join(folder, "wrong.json"), JSON.stringify([...script, { wiat: "5s" }]));
  const wrong = await run("fault run wrong.json");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("Step 4 of the script")]);
  expect((await run("fault")).stderr).toContain("No fault was asked for.");
});

test("a torture finds nothing wrong with a function that keeps the rules", async () => {
  const { code, stdout } = await run("torture --function shop-good --rounds 2 --seed 3");
  expect([code, stdout]).toEqual([0, expect.stringContaining("Nothing was found in 15 rounds.")]);
  expect(stdout).toContain("killed before the commit of charge");
  expect(stdout).toContain("killed after the commit of pack");
});

test("a torture finds an effect outside of a step, and its line shows the same finding again", async () => {
  await writeFile(join(folder, "effects.sh"), 'grep -c "$HOLDFAST_RUN_ID" ledger\n');
  const first = await run('torture --function shop-bad --rounds 0 --effects "sh effects.sh"');
  expect([first.code, first.stdout]).toEqual([6, expect.stringContaining("EFFECTS_DIFFER")]);
  const [again = ""] = /torture --function shop-bad --seed \d+ --round \d+/.exec(first.stdout) ?? [];
  const second = await run(`${again} --effects "sh effects.sh" --json`);
  const report = JSON.parse(second.stdout) as { rounds: number; problems: { kind: string }[] };
  expect([second.code, report.rounds, report.problems.map(({ kind }) => kind)]).toEqual([6, 3, ["EFFECTS_DIFFER"]]);
  expect((await readFile(join(folder, "ledger"), "utf8")).split("\n").length).toBeGreaterThan(5);
  expect((await run("torture")).code).toBe(2);
  expect((await run("torture --function shop-nothing")).code).toBe(3);
});
