import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { COMMAND_OPTIONS, parseCommand } from "../../src/cli.ts";
import { HELP } from "../../src/cli-help.ts";
import { resolveConfig } from "../../src/config.ts";
import { readKeysFile } from "../../src/keys-file.ts";
import { createLog, prettyLine } from "../../src/logger.ts";
import type { OptionRow } from "../../src/option-kinds.ts";
import { GATEWAY_OPTIONS } from "../../src/option-table.ts";
import { startGateway } from "../../src/server.ts";
import { VERSION } from "../../src/version.ts";
import { SIGNING_KEY, useGateway } from "./harness.ts";

const bench = useGateway();

function refusal(args: readonly string[]): string {
  try {
    parseCommand(args, {});
  } catch (error) {
    if (HoldfastError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error(`${args.join(" ")} was accepted`);
}

describe("Command line", () => {
  test("the command line without options leaves all defaults to the gateway", () => {
    const command = parseCommand(["dev"], {});
    expect(command).toMatchObject({ type: "dev", options: {}, logLevel: "info", json: false });
    expect(resolveConfig({})).toMatchObject({ host: "127.0.0.1", port: 8288, connectPort: 8289, dataDir: ".holdfast" });
  });

  /** A text for each option, and what it comes to. */
  const TEXTS: { readonly [Name in keyof typeof GATEWAY_OPTIONS]: readonly [string, unknown] | null } = {
    port: ["0", 0],
    connectPort: ["9", 9],
    host: ["::1", "::1"],
    allowedHosts: ["gateway.test", ["gateway.test"]],
    allowedOrigins: ["http://app.test", ["http://app.test"]],
    store: ["memory", "memory"],
    dataDir: ["d", "d"],
    keepData: ["false", false],
    databaseUrl: ["postgres://h/d", "postgres://h/d"],
    maxConnections: ["5", 5],
    maxWorkers: ["20000", 20_000],
    signingKey: [SIGNING_KEY, SIGNING_KEY],
    signingKeyFallback: [SIGNING_KEY, SIGNING_KEY],
    eventKey: ["e", "e"],
    // Of a file: below.
    keys: null,
    leaseMs: ["20s", 20_000],
    heartbeatMs: ["500ms", 500],
    requestAckMs: ["2s", 2_000],
    retryBaseMs: ["10", 10],
    reconnectGraceMs: ["1s", 1_000],
    drainMs: ["2s", 2_000],
    versionPolicy: ["strict", "strict"],
    allowPrivateFetch: ["1", true],
    extensions: ["off", []],
    plain: ["on", true],
    virtualTime: ["true", true],
    // No text.
    log: null,
  };

  test.each(Object.entries(TEXTS).flatMap(([name, texts]) => (texts === null ? [] : [[name, ...texts] as const])))(
    "the option %s is set by its flag and by each of its variables, the flag first",
    (name, text, value) => {
      const { flag, variables }: OptionRow = GATEWAY_OPTIONS[name as keyof typeof GATEWAY_OPTIONS];
      const read = (args: readonly string[], env: Record<string, string>): unknown =>
        (parseCommand(["dev", ...args], env) as { options: unknown }).options;
      expect(variables.filter((one) => one.startsWith("HOLDFAST_"))).toHaveLength(1);
      for (const variable of variables) expect(read([], { [variable]: text })).toEqual({ [name]: value });
      if (flag === null) return;
      const args = "sets" in flag ? [`--${flag.name}`] : [`--${flag.name}`, text];
      const env = Object.fromEntries(variables.map((variable) => [variable, "never read"]));
      expect(read(args, env)).toEqual({ [name]: value });
    },
  );

  test("no two options share a flag or a variable, and the help names all of them", () => {
    const rows = Object.values<OptionRow>({ ...GATEWAY_OPTIONS, ...COMMAND_OPTIONS });
    const names = rows.flatMap(({ flag, variables }) => [...(flag ? [`--${flag.name}`] : []), ...variables]);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !new RegExp(`(^|\\s)${name}[\\s,]`, "m").test(HELP))).toEqual([]);
    expect(HELP.split("\n").filter((line) => line.length > 120)).toEqual([]);
  });

  test("a repeated flag and a variable with commas give several values; switches can be switched off", () => {
    const read = (args: readonly string[], env: Record<string, string> = {}): unknown =>
      (parseCommand(["dev", ...args], env) as { options: unknown }).options;
    const allowedHosts = ["a.test", "b.test"];
    expect(read(["--allowed-host", "a.test", "--allowed-host", "b.test"])).toEqual({ allowedHosts });
    expect(read([], { HOLDFAST_GATEWAY_ALLOWED_HOSTS: "a.test, b.test" })).toEqual({ allowedHosts });
    expect(read([], { HOLDFAST_GATEWAY_EXTENSIONS: "nack,stall" })).toEqual({ extensions: ["nack", "stall"] });
    expect(read([], { HOLDFAST_GATEWAY_PLAIN: "off", HOLDFAST_GATEWAY_PORT: " " })).toEqual({ plain: false });
    expect(read([], { HOLDFAST_DATABASE_URL: "postgres://h/a", DATABASE_URL: "postgres://h/b" })).toEqual({
      databaseUrl: "postgres://h/a",
    });
  });

  test("the options of the command itself are read from flags and variables", () => {
    const flags = ["--log-level", "debug", "--log-format", "json", "--json"];
    const read = { type: "dev", options: {}, logLevel: "debug", logFormat: "json", json: true };
    expect(parseCommand(["dev", ...flags], {})).toEqual(read);
    const env = {
      HOLDFAST_GATEWAY_LOG_LEVEL: "debug",
      HOLDFAST_GATEWAY_LOG_FORMAT: "json",
      HOLDFAST_GATEWAY_JSON: "1",
    };
    expect(parseCommand(["dev"], env)).toEqual(read);
  });

  test.each([
    [{ HOLDFAST_GATEWAY_PORT: "many" }, 'HOLDFAST_GATEWAY_PORT must be a port from 0 to 65535, not "many".'],
    [{ HOLDFAST_GATEWAY_PLAIN: "maybe" }, 'HOLDFAST_GATEWAY_PLAIN must be true or false, not "maybe".'],
    [{ HOLDFAST_GATEWAY_EXTENSIONS: "magic" }, "HOLDFAST_GATEWAY_EXTENSIONS must be one of checkpoint,"],
    [{ HOLDFAST_GATEWAY_ALLOWED_ORIGINS: "a" }, 'allowedOrigins must be origins such as "https://app.example.com"'],
  ])("the invalid variables %j are rejected by name", (env, message) => {
    expect(() => parseCommand(["dev"], env)).toThrow(message);
    expect(() => parseCommand(["dev"], env)).toThrow(expect.objectContaining({ code: "GATEWAY_USAGE" }));
  });

  test("--help and --version are recognised", () => {
    expect(parseCommand(["--help"], {})).toEqual({ type: "help" });
    expect(parseCommand(["dev", "-h"], {})).toEqual({ type: "help" });
    expect(parseCommand(["--version"], {})).toEqual({ type: "version" });
  });

  test.each([
    [[], "No command was given"],
    [["serve"], 'Unknown command "serve"'],
    [["dev", "--bogus"], "--bogus"],
    [["dev", "--port", "70000"], "--port must be a port"],
    [["dev", "--port"], "--port"],
    [["dev", "--lease", "soon"], "--lease is not a duration"],
    [["dev", "--lease", "1ms"], "--lease must be between 200 ms and 86400000 ms"],
    [["dev", "--drain", "300d"], "--drain must be between"],
    [
      ["dev", "--lease", "1s", "--heartbeat", "30s"],
      "--heartbeat (30000 ms) must not be longer than --lease (1000 ms)",
    ],
    [["dev", "--log-level", "loud"], "--log-level must be one of"],
    [["dev", "--database-url", "mysql://x"], "--database-url must look like"],
  ])("the command line %j is rejected with one sentence", (args, text) => {
    const sentence = refusal(args);
    expect(sentence).toContain("GATEWAY_USAGE");
    expect(sentence).toContain(text);
    expect(sentence).not.toContain("\n");
  });
});

test("a log function that throws does not disturb the gateway", async () => {
  const fail = (): never => {
    throw new Error("no log");
  };
  for (const log of [fail, async () => fail()]) expect(() => resolveConfig({ log }).log("info", "x")).not.toThrow();
  // What is rejected and not taken care of would fail the test.
  await new Promise((resolve) => setImmediate(resolve));
});

test("unknown and invalid gateway options are rejected", () => {
  expect(() => resolveConfig({ host: "0.0.0.0" })).toThrow(/signing key/);
  expect(resolveConfig({ host: "0.0.0.0", signingKey: SIGNING_KEY, eventKey: "e" }).host).toBe("0.0.0.0");
  expect(() => resolveConfig({ port: 5, connectPort: 5 })).toThrow(/differ/);
  expect(() => resolveConfig({ leaseMs: 1 })).toThrow(/leaseMs/);
  expect(() => resolveConfig({ prot: 1 } as never)).toThrow(/gateway option `prot`/);
  expect(() => resolveConfig({ log: "debug" } as never)).toThrow(/`log`/);
  expect(() => resolveConfig({ keepData: "no" } as never)).toThrow(/`keepData` must be true or false/);
  expect(() => resolveConfig({ maxConnections: 2 })).toThrow(/`maxConnections` must be an integer from 3 to 100/);
  expect(() => resolveConfig({ leaseMs: "20s" } as never)).toThrow(/`leaseMs`/);
  expect(() => resolveConfig({ port: 65_535 })).toThrow(/connectPort/);
  expect(() => resolveConfig({ extensions: ["magic" as never] })).toThrow(/magic/);
  expect(() => resolveConfig({ store: "disk" as never })).toThrow(/`store` must be one of postgres, memory/);
});

test.each([{ databaseUrl: "postgres://h/d" }, { dataDir: "d" }, { keepData: true }, { maxConnections: 5 }])(
  "the memory store beside the option for Postgres %j is refused with a code, and says which option it is",
  (options) => {
    const resolve = () => resolveConfig({ store: "memory", ...options });
    expect(resolve).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(resolve).toThrow(`\`${Object.keys(options)[0]}\``);
    expect(resolveConfig({ ...options, store: "postgres" })).toMatchObject({ store: "postgres", ...options });
  },
);

test.each([
  "signkey-prod-my-super-production-passwort",
  "Tr0ub4dor&3 correct horse",
  "!!!???",
  `signkey-test-${"0".repeat(30)}`,
  `signkey-test-${"0".repeat(33)}`,
  `signkey-test-${"0".repeat(31)}z`,
  5,
])("the key %j, of which only a prefix would count, is rejected", (key) => {
  for (const name of ["signingKey", "signingKeyFallback"]) {
    const resolve = () => resolveConfig({ [name]: key });
    expect(resolve).toThrow(expect.objectContaining({ code: "SIGNING_KEY_INVALID" }));
    expect(resolve).toThrow(new RegExp(`\\\`${name}\\\` .*openssl rand -hex 32`));
    expect(resolve).not.toThrow(String(key));
  }
});

test("a key file is read, or rejected with the reason and without showing a key", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-keys-"));
  try {
    const file = join(folder, "keys.json");
    const written = async (text: string): Promise<string> => {
      await writeFile(file, text);
      return file;
    };
    const key = { name: "ci", kind: "signing", key: SIGNING_KEY, environment: "preview" };
    expect(readKeysFile(await written(JSON.stringify([key])))).toEqual([key]);
    for (const [text, why] of [
      [`[{"key": "${SIGNING_KEY}"`, /it is not JSON/],
      [JSON.stringify(key), /must contain an array/],
      [JSON.stringify([{ ...key, kind: "other" }]), /signing or event/],
      [JSON.stringify([{ ...key, key: "s3cr3t" }]), /hex digits/],
    ] as const) {
      const path = await written(text);
      expect(() => readKeysFile(path)).toThrow(why);
      expect(() => readKeysFile(path)).not.toThrow(/s3cr3t|00112233/);
    }
    expect(() => readKeysFile(join(folder, "none"))).toThrow(/cannot be read/);
    await written(JSON.stringify([key]));
    expect(parseCommand(["dev", "--keys", file], {})).toMatchObject({ options: { keys: [key] } });
    expect(parseCommand(["dev"], { HOLDFAST_KEYS_FILE: file })).toMatchObject({ options: { keys: [key] } });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a busy port is reported in one sentence, and nothing is left behind", async () => {
  const gateway = await bench.gateway();
  const failing = startGateway({ port: gateway.port, connectPort: 0, databaseUrl: bench.db.url });
  await expect(failing).rejects.toMatchObject({ code: "PORT_BUSY", message: expect.stringContaining("--port") });
});

test("an unreachable database is reported, and the ports are free again", async () => {
  const gateway = await bench.gateway();
  await gateway.close();
  const failing = startGateway({ port: gateway.port, connectPort: 0, databaseUrl: "postgres://x@127.0.0.1:1/x" });
  await expect(failing).rejects.toMatchObject({ code: "DATABASE_UNREACHABLE" });
  const again = await bench.gateway({ port: gateway.port, connectPort: 0 });
  expect(again.port).toBe(gateway.port);
});

test("the gateway's version is the package's", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(manifest.version);
});

test("log lines are JSON, or short text for a terminal", () => {
  const lines: string[] = [];
  const log = createLog({ write: (text) => lines.push(text) }, "info", "json");
  log("debug", "hidden");
  log("warn", "seen", { runId: "r1" });
  expect(lines.length).toBe(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "warn", msg: "seen", runId: "r1" });
  expect(prettyLine(lines[0] ?? "", false)).toMatch(/^\d\d:\d\d:\d\d warn {2}seen {2}runId=r1\n$/);
  expect(prettyLine("not JSON", false)).toBe("not JSON");
});
