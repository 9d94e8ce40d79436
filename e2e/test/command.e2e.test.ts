import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDatabase, type NodeProcess, spawnNode } from "@holdfast/testing";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { type Outcome, shell, type Variables } from "../support/terminal.ts";

/** The program as a user has it: its commands in a shell, against gateways that it started itself. */

const SIGNING_KEY = `signkey-test-${"0123456789abcdef".repeat(2)}`;
const KEYS = { HOLDFAST_SIGNING_KEY: SIGNING_KEY, HOLDFAST_EVENT_KEY: "the-event-key" };
const APP = fileURLToPath(new URL("../fixtures/command-app.mjs", import.meta.url));
const program = `${process.execPath} ${gatewayBin}`;

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-command-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** Settings of those who run the tests are none of the program's business. */
const CLEARED = Object.fromEntries(
  Object.keys(process.env).flatMap((name) =>
    /^(HOLDFAST_(?!TOOLING)|DATABASE_URL$|npm_)/.test(name) ? [[name, undefined]] : [],
  ),
);

function gateway(args: readonly string[], env: Variables = {}): NodeProcess {
  const ports = ["--port", "0", "--connect-port", "0"];
  return spawnNode(gatewayBin, { name: "The gateway", args: [...args, ...ports], env: { ...CLEARED, ...env } });
}

/** What the greeting says after a label. */
async function greeted(child: NodeProcess, label: string): Promise<string> {
  const line = await child.waitForLine((one) => one.trim().startsWith(label));
  return line.trim().slice(label.length).trim();
}

const run = (args: string, env: Variables): Promise<Outcome> => shell(`${program} ${args}`, { env });

describe("The greeting's commands work as typed", () => {
  test.each([
    ["on this machine, without keys", [], {}],
    ["with keys, on every address", ["--host", "0.0.0.0"], KEYS],
  ] as const)("the commands that a gateway greets with work as typed: %s", async (_where, args, env) => {
    const child = gateway(["dev", "--store", "memory", ...args], env);
    onTestFinished(async () => void (await child.kill()));
    const connect = await greeted(child, "Connect an app:");
    const send = await greeted(child, "Send an event:");
    const list = await greeted(child, "List the runs:");
    const cwd = await folder();
    await writeFile(join(cwd, "app.js"), `import(${JSON.stringify(new URL(`file://${APP}`).href)});\n`);
    const app = spawn("sh", ["-c", `exec env ${connect}`], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(async () => {
      app.kill("SIGKILL");
      if (app.exitCode === null && app.signalCode === null) await once(app, "exit");
    });
    expect(String((await once(app.stdout, "data"))[0])).toContain("connected");
    expect(await shell(send, { env, cwd })).toMatchObject({ code: 0 });
    const { code, stdout } = await shell(list, { env, cwd });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^RUN .*\n\S+ +demo-hello /)]);
    if ("HOLDFAST_SIGNING_KEY" in env) {
      expect(await shell(list, { cwd })).toMatchObject({ code: 5, stderr: expect.stringContaining("(UNAUTHORIZED)") });
    }
  });

  test("with a key file the commands name it", async () => {
    const file = join(await folder(), "keys.json");
    const keys = [
      { name: "apps", kind: "signing", key: SIGNING_KEY },
      { name: "shop", kind: "event", key: "the-event-key" },
    ];
    await writeFile(file, JSON.stringify(keys));
    const child = gateway(["dev", "--store", "memory", "--keys", file]);
    onTestFinished(async () => void (await child.kill()));
    const sent = await shell(await greeted(child, "Send an event:"));
    expect(sent).toMatchObject({ code: 0, stderr: expect.stringContaining("no function is registered") });
    expect(await shell(await greeted(child, "List the runs:"))).toMatchObject({ code: 0 });
  });

  test("of a key file a command takes the key of its environment", async () => {
    const file = join(await folder(), "keys.json");
    const keys = ["production", "preview"].flatMap((environment, index) => [
      { name: `apps of ${environment}`, kind: "signing", key: `${index}`.repeat(32), environment },
      { name: `shop of ${environment}`, kind: "event", key: `events-${environment}`, environment },
    ]);
    await writeFile(file, JSON.stringify(keys));
    const child = gateway(["dev", "--store", "memory", "--json", "--keys", file]);
    onTestFinished(async () => void (await child.kill()));
    const { url } = JSON.parse(await child.waitForLine((line) => line.includes('"ready"'))) as { url: string };
    const env = { HOLDFAST_GATEWAY_URL: url, HOLDFAST_KEYS_FILE: file };
    for (const environment of ["production", "preview"]) {
      expect((await run(`send demo/hello --env ${environment}`, env)).code).toBe(0);
      expect((await run(`runs --env ${environment}`, env)).code).toBe(0);
    }
    expect(await run("runs --env staging", env)).toMatchObject({ code: 5 });
  });
});

describe("Commands against a gateway", () => {
  let env: Variables = {};
  beforeAll(async () => {
    const child = gateway(["dev", "--store", "memory", "--json"]);
    const { url } = JSON.parse(await child.waitForLine((line) => line.includes('"ready"'))) as { url: string };
    env = { HOLDFAST_GATEWAY_URL: url };
    const app = spawnNode(APP, { name: "The app", env: { ...CLEARED, HOLDFAST_DEV: url } });
    await app.waitForLine("connected");
    return async () => {
      await app.kill();
      await child.kill();
    };
  });

  const sent = async (data: object): Promise<{ readonly runIds: readonly string[] }> => {
    const { stdout } = await run(`send demo/hello --json --data '${JSON.stringify(data)}'`, env);
    return JSON.parse(stdout) as { runIds: string[] };
  };

  test("an event's runs are shown, waited for, and their end is the exit code", async () => {
    const good = await run(`send demo/hello --wait --data '{"name":"Ada"}'`, env);
    expect(good).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(run \w+ of [\w-]+: [A-Z]+\n)+$/) });
    expect(good.stdout).toMatch(/^event {2}\S+\n/);
    expect(good.stdout).toContain('result       "hello Ada"');
    expect(good.stdout).toMatch(/^greet +run +completed/m);
    const bad = await run(`send demo/hello --wait --data '{"fails":true}'`, env);
    expect(bad.code).toBe(6);
    expect(bad.stdout).toContain('Error of the step "fail":\n  TypeError: It fails as it was told to.\n');
    const failed = await run("runs --status failed --json", env);
    const { runs } = JSON.parse(failed.stdout) as { runs: { id: string; status: string }[] };
    expect(runs.map(({ status }) => status)).toEqual(["FAILED"]);
    expect((await run(`run ${runs[0]?.id} --wait`, env)).code).toBe(6);
    expect((await run(`run ${runs[0]?.id}`, env)).code).toBe(0);
  });

  test("data comes from a file or stdin, and what is no JSON is refused before it is sent", async () => {
    const file = join(await folder(), "data.json");
    await writeFile(file, '{"name":"file"}');
    expect((await run(`send demo/hello --wait --data @${file}`, env)).stdout).toContain('"hello file"');
    const piped = await shell(`${program} send demo/hello --wait --data -`, { env, input: '{"name":"stdin"}' });
    expect(piped.stdout).toContain('"hello stdin"');
    expect(await run("send demo/hello --data '{card:1}'", env)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--data is not JSON"),
    });
  });

  test("an event that starts nothing says so, with the name that was probably meant", async () => {
    const { code, stderr } = await run("send demo/helo", env);
    expect([code, stderr]).toEqual([
      0,
      'It started nothing: no function is triggered by "demo/helo"; runs that wait for it have it. Did you mean "demo/hello"?\n',
    ]);
    expect((await run("send invoice/paid", env)).stderr).toContain("Triggers are: demo/hello");
    const waited = await run("send demo/helo --wait", env);
    expect([waited.code, waited.stderr]).toEqual([
      0,
      expect.stringMatching(/^It started nothing: .*\nSo --wait has no run to wait for; the event is stored.\n$/),
    ]);
    expect(await run("runs --url ftp://127.0.0.1", env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--url must look like .*"ftp:\/\/127.0.0.1"\. \(GATEWAY_USAGE\)/),
    });
  });

  test("a run is cancelled once, and one that has completed is not", async () => {
    const { runIds } = await sent({ waits: true });
    const [id] = runIds;
    expect(await run(`cancel ${id}`, env)).toMatchObject({ code: 0, stdout: `${id}  cancelled\n` });
    expect(await run(`cancel ${id}`, env)).toMatchObject({ code: 0, stdout: `${id}  was cancelled already\n` });
    const { stdout } = await run("send demo/hello --wait --json", env);
    const completed = (JSON.parse(stdout) as { runIds: string[] }).runIds[0];
    expect(await run(`cancel ${completed} --json`, env)).toMatchObject({ code: 6 });
  });

  test("a run that there is not, a gateway that there is not, and a mistyped flag have exit codes of their own", async () => {
    expect(await run("run 01NONE", env)).toMatchObject({ code: 3, stderr: expect.stringContaining("(NOT_FOUND)") });
    const nowhere = await run("runs --url http://127.0.0.1:9 --json", env);
    expect([nowhere.code, nowhere.stdout]).toEqual([4, ""]);
    expect(JSON.parse(nowhere.stderr)).toMatchObject({ code: "GATEWAY_UNREACHABLE" });
    expect(await run("runs --statu failed", env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Did you mean --status?"),
    });
    expect(await run("", env)).toMatchObject({ code: 0, stdout: expect.stringContaining("Run a gateway:") });
  });

  test("a reader that has left ends a command with 0 and without a word", async () => {
    await sent({});
    // The last of them says more once it has failed to say something.
    const silent = "doctor --port 0 --database-url postgres://x@127.0.0.1:9/x";
    for (const args of ["runs", "runs --json", "--help", "keys create", silent]) {
      const command = spawn(process.execPath, [gatewayBin, ...args.split(" ")], {
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      command.stdout.destroy();
      let said = "";
      command.stderr.on("data", (text: Buffer) => {
        said += text.toString();
      });
      const [code] = await once(command, "close");
      expect([args, code, said]).toEqual([args, 0, ""]);
    }
  });
});

describe("start", () => {
  test("a gateway in production logs JSON, requires keys, has no routes for tests, and ends with 0 on SIGTERM", async () => {
    const database = await createDatabase(inject("postgresUrl"));
    onTestFinished(() => database.drop());
    const child = gateway(["start"], { ...KEYS, HOLDFAST_DATABASE_URL: database.url });
    onTestFinished(async () => void (await child.kill()));
    const { url } = JSON.parse(await child.waitForLine((line) => line.includes('"msg":"Ready."'))) as { url: string };
    const env = { ...KEYS, HOLDFAST_GATEWAY_URL: url };
    expect((await fetch(`${url}/v1/runs`)).status).toBe(401);
    for (const bearer of [SIGNING_KEY, (await run("keys hash", env)).stdout.trim()]) {
      const headers = { Authorization: `Bearer ${bearer}` };
      expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(200);
      expect((await run("runs", { ...env, HOLDFAST_SIGNING_KEY: bearer })).code).toBe(0);
      const skip = await fetch(`${url}/v1/testing/skip-time`, { method: "POST", headers, body: '{"ms":1}' });
      expect(skip.status).toBe(404);
    }
    expect((await run("send demo/hello", env)).code).toBe(0);
    expect(await child.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    for (const line of child.lines)
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), msg: expect.any(String) });
  });

  test("a gateway that lacks everything says all of it and exits with 2", async () => {
    const { code, stdout, stderr } = await run("start", {});
    expect([code, stdout]).toEqual([2, ""]);
    for (const part of ["a database:", "a signing key:", "an event key:", "(START_INCOMPLETE)"]) {
      expect(stderr).toContain(part);
    }
  });

  test("its configuration is printed with the source of each value, and without secrets", async () => {
    const file = join(await folder(), "holdfast.json");
    await writeFile(file, JSON.stringify({ drainMs: "3s", databaseUrl: "postgres://app:s3cr3t@db/shop" }));
    const { code, stdout } = await run(`start --port 1234 --config ${file} --print-config`, KEYS);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^port +1234 +--port$/m);
    expect(stdout).toMatch(new RegExp(`^drainMs +3s +${file}$`, "m"));
    expect(stdout).toMatch(/^signingKey +\*+ +HOLDFAST_SIGNING_KEY$/m);
    expect(stdout).toMatch(/^host +127\.0\.0\.1 +default$/m);
    expect(stdout).toMatch(/^connectPort +1235 +default$/m);
    expect(stdout).toMatch(/^retentionCompletedMs +30d +default$/m);
    expect(stdout).toMatch(/^allowPrivateFetch +false +default$/m);
    expect(stdout).toMatch(/^logFormat +json +default$/m);
    for (const secret of ["s3cr3t", SIGNING_KEY, "the-event-key"]) expect(stdout).not.toContain(secret);
    const incomplete = await run("start --print-config --json", {});
    expect([incomplete.code, JSON.parse(incomplete.stdout)]).toEqual([2, expect.any(Array)]);
    expect(JSON.parse(incomplete.stdout)).toContainEqual({ option: "leaseMs", value: 20_000, source: "default" });
    const mistyped = await run("dev --print-config", { HOLDFAST_GATEWAY_PROT: "1" });
    expect([mistyped.code, mistyped.stderr]).toEqual([
      0,
      expect.stringContaining("Did you mean HOLDFAST_GATEWAY_PORT?"),
    ]);
  });
});

test("migrate says what it would do, does it, and has nothing to do then", async () => {
  const database = await createDatabase(inject("postgresUrl"));
  onTestFinished(() => database.drop());
  const env = { HOLDFAST_DATABASE_URL: database.url };
  expect(await run("migrate --dry-run", env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^would apply {2}001-/),
  });
  expect(await run("migrate", env)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^applied {2}001-/) });
  expect(await run("migrate", env)).toMatchObject({ code: 0, stdout: expect.stringContaining("up to date") });
  expect(JSON.parse((await run("migrate --json", env)).stdout)).toMatchObject({ pending: [], applied: [] });
  expect(await run("migrate --database-url postgres://x:s3cr3t@127.0.0.1:9/x", {})).toMatchObject({
    code: 4,
    stderr: expect.not.stringContaining("s3cr3t"),
  });
  expect((await run("migrate", {})).code).toBe(2);
});

test("new keys start a gateway, and their hash is what the SDK sends", async () => {
  const { stdout } = await run("keys create --name test", {});
  expect(stdout).toMatch(/^HOLDFAST_SIGNING_KEY=signkey-test-[0-9a-f]{64}\nHOLDFAST_EVENT_KEY=[\w-]{32}\n$/);
  const listed = await shell(`${stdout.trim().replaceAll("\n", " ")} ${program} keys list`);
  expect(listed.stdout).toMatch(/^signingKey +signing +any +[0-9a-f]{12}$/m);
  expect(await run("keys hash", KEYS)).toEqual(await shell(`echo ${SIGNING_KEY} | ${program} keys hash -`));
  expect((await run("keys hash s3cr3t", {})).stderr).not.toContain("s3cr3t");
});

describe("doctor", () => {
  interface Report {
    readonly ok: boolean;
    readonly checks: readonly { readonly name: string; readonly status: string; readonly message: string }[];
  }
  const examined = async (args: string, env: Variables): Promise<Report & { code: number | null }> => {
    const { code, stdout } = await run(`doctor --json ${args}`, env);
    return { ...(JSON.parse(stdout) as Report), code };
  };
  const statusOf = (report: Report, name: string): string | undefined =>
    report.checks.find((check) => check.name === name)?.status;

  test("a running gateway is tried with a run from end to end, with the key it wants and without", async () => {
    const child = gateway(["dev", "--store", "memory", "--json"], KEYS);
    onTestFinished(async () => void (await child.kill()));
    const { url, port } = JSON.parse(await child.waitForLine((line) => line.includes('"ready"'))) as {
      url: string;
      port: number;
    };
    const good = await examined(`--url ${url}`, KEYS);
    expect([good.code, statusOf(good, "connect"), statusOf(good, "round trip")]).toEqual([0, "ok", "ok"]);
    // Nothing of it is left for those who look at their own.
    for (const [list, none] of [
      ["runs", { runs: [] }],
      ["functions", { functions: [] }],
    ] as const) {
      const { stdout } = await run(`${list} --json`, { ...KEYS, HOLDFAST_GATEWAY_URL: url });
      expect(JSON.parse(stdout)).toMatchObject(none);
    }
    const keyless = await examined(`--url ${url}`, {});
    expect([keyless.code, statusOf(keyless, "connect")]).toEqual([1, "fail"]);
    // Found by its port.
    const local = await examined(`--port ${port}`, KEYS);
    expect(local.checks.find(({ name }) => name === "port")?.message).toContain("a gateway (version");
    expect(statusOf(local, "round trip")).toBe("ok");
    expect((await examined("--url http://127.0.0.1:9", KEYS)).code).toBe(4);
  });

  test("a database is examined, its schema named, and without --no-round-trip tried through a gateway of its own", async () => {
    const database = await createDatabase(inject("postgresUrl"));
    onTestFinished(() => database.drop());
    const env = { ...KEYS, HOLDFAST_DATABASE_URL: database.url };
    const fresh = await examined("--port 0 --no-round-trip", env);
    expect([statusOf(fresh, "schema"), statusOf(fresh, "wake-ups"), statusOf(fresh, "start")]).toEqual([
      "warn",
      "ok",
      "ok",
    ]);
    // The suite's server is not durable.
    expect([fresh.ok, fresh.code, statusOf(fresh, "durability")]).toEqual([false, 1, "fail"]);
    await run("migrate", env);
    expect(statusOf(await examined("--port 0", env), "schema")).toBe("ok");
  });

  test("a port that another program has, and a database that is not there, fail with a fix on a line of its own", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const { code, stdout } = await run(`doctor --port ${port} --database-url postgres://x:s3cr3t@127.0.0.1:9/x`, {});
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL {5}port .*\n +fix: /m);
    expect(stdout).toMatch(/^FAIL {5}database .*\n +fix: /m);
    expect(stdout).toMatch(/^skipped {2}round trip/m);
    expect(stdout).not.toContain("s3cr3t");
  });

  test("without a database it starts a Postgres that is gone afterwards, and sends a run through it", async () => {
    const report = await examined("--port 0", {});
    expect([report.code, statusOf(report, "gateway"), statusOf(report, "round trip")]).toEqual([0, "ok", "ok"]);
  });
});
