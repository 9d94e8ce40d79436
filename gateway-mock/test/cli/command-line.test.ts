import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "@holdfast/core";
import { describe, expect, test } from "vitest";
import { parseCommandLine } from "../../src/cli/command-line.ts";
import { createLog, prettyLine } from "../../src/cli/logger.ts";
import { COMMAND_OPTIONS } from "../../src/config/command-options.ts";
import { resolveConfig } from "../../src/config/config.ts";
import { readKeysFile } from "../../src/config/keys-file.ts";
import { gatewayOptions, gatewayRows } from "../../src/config/modes.ts";
import type { OptionRow } from "../../src/config/option-kinds.ts";
import { GATEWAY_OPTIONS } from "../../src/config/option-table.ts";
import { givenValues, readSettings } from "../../src/config/settings.ts";

const SIGNING_KEY = "signkey-test-00112233445566778899aabbccddeeff";

type Variables = Readonly<Record<string, string>>;

/** What a command line and variables come to for `dev`. */
function read(args: readonly string[], env: Variables = {}): { options: unknown; command: unknown } {
  const invocation = parseCommandLine(args);
  if (invocation.type !== "command") throw new Error(`${args.join(" ")} is no command`);
  const given = { flags: invocation.flags, env };
  const settings = readSettings({ ...gatewayRows(), ...COMMAND_OPTIONS }, given);
  return {
    options: gatewayOptions("dev", readSettings(gatewayRows(), given)),
    command: givenValues(settings.filter(({ name }) => Object.hasOwn(COMMAND_OPTIONS, name))),
  };
}

function refusal(args: readonly string[]): string {
  try {
    read(args);
  } catch (error) {
    if (HoldfastError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error(`${args.join(" ")} was accepted`);
}

describe("Command line", () => {
  test("the command line without options leaves all defaults to the gateway", () => {
    expect(read(["dev"])).toEqual({ options: {}, command: {} });
    expect(resolveConfig({})).toMatchObject({ host: "127.0.0.1", port: 8288, connectPort: 8289, dataDir: ".holdfast" });
  });

  /** A text for each option, and what it comes to. */
  const TEXTS: { readonly [Name in keyof typeof GATEWAY_OPTIONS]: readonly [string, unknown] | null } = {
    port: ["0", 0],
    connectPort: ["9", 9],
    host: ["::1", "::1"],
    allowedHosts: ["gateway.test", ["gateway.test"]],
    allowedOrigins: ["http://app.test", ["http://app.test"]],
    publicUrl: ["https://gateway.test", "https://gateway.test"],
    store: ["memory", "memory"],
    dataDir: ["d", "d"],
    keepData: ["false", false],
    databaseUrl: ["postgres://h/d", "postgres://h/d"],
    maxConnections: ["5", 5],
    resendMemoryBytes: ["1000", 1000],
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
    retentionCompletedMs: ["30d", 2_592_000_000],
    retentionFailedMs: ["off", "off"],
    logRuns: ["info", "info"],
    dashboard: ["read-only", "read-only"],
    otlpEndpoint: ["http://localhost:4318", "http://localhost:4318"],
    traceRatio: ["0.25", 0.25],
    versionPolicy: ["strict", "strict"],
    allowPrivateFetch: ["1", true],
    extensions: ["off", []],
    plain: ["on", true],
    virtualTime: ["true", true],
    faults: ["false", false],
    // No text.
    log: null,
  };

  test.each(Object.entries(TEXTS).flatMap(([name, texts]) => (texts === null ? [] : [[name, ...texts] as const])))(
    "the option %s is set by its flag and by each of its variables, the flag first",
    (name, text, value) => {
      const { flag, variables }: OptionRow = GATEWAY_OPTIONS[name as keyof typeof GATEWAY_OPTIONS];
      const options = (args: readonly string[], env: Variables): unknown => read(["dev", ...args], env).options;
      expect(variables.filter((one) => one.startsWith("HOLDFAST_"))).toHaveLength(1);
      for (const variable of variables) expect(options([], { [variable]: text })).toEqual({ [name]: value });
      if (flag === null) return;
      const args = "sets" in flag ? [`--${flag.name}`] : [`--${flag.name}`, text];
      const env = Object.fromEntries(variables.map((variable) => [variable, "never read"]));
      expect(options(args, env)).toEqual({ [name]: value });
    },
  );

  test("no two options share a flag or a variable, and the help names all of them", () => {
    const rows = Object.values<OptionRow>({ ...GATEWAY_OPTIONS, ...COMMAND_OPTIONS });
    const names = rows.flatMap(({ flag, variables }) => [...(flag ? [`--${flag.name}`] : []), ...variables]);
    expect(new Set(names).size).toBe(names.length);
    const invocation = parseCommandLine(["dev", "--help"]);
    const help = invocation.type === "help" ? invocation.text : "";
    expect(names.filter((name) => !new RegExp(`(^|[\\s[])${name}[\\s,\\]]`, "m").test(help))).toEqual([]);
    expect(help.split("\n").filter((line) => line.length > 120)).toEqual([]);
  });

  test("a repeated flag and a variable with commas give several values; switches can be switched off", () => {
    const options = (args: readonly string[], env: Variables = {}): unknown => read(["dev", ...args], env).options;
    const allowedHosts = ["a.test", "b.test"];
    expect(options(["--allowed-host", "a.test", "--allowed-host", "b.test"])).toEqual({ allowedHosts });
    expect(options([], { HOLDFAST_GATEWAY_ALLOWED_HOSTS: "a.test, b.test" })).toEqual({ allowedHosts });
    expect(options([], { HOLDFAST_GATEWAY_EXTENSIONS: "nack,stall" })).toEqual({ extensions: ["nack", "stall"] });
    expect(options([], { HOLDFAST_GATEWAY_PLAIN: "off", HOLDFAST_GATEWAY_PORT: " " })).toEqual({ plain: false });
    expect(options([], { HOLDFAST_DATABASE_URL: "postgres://h/a", DATABASE_URL: "postgres://h/b" })).toEqual({
      databaseUrl: "postgres://h/a",
    });
  });

  test("the options of the command itself are read from flags and variables", () => {
    const flags = ["--log-level", "debug", "--log-format", "json", "--json"];
    const command = { logLevel: "debug", logFormat: "json", json: true };
    expect(read(["dev", ...flags])).toEqual({ options: {}, command });
    const env = {
      HOLDFAST_GATEWAY_LOG_LEVEL: "debug",
      HOLDFAST_GATEWAY_LOG_FORMAT: "json",
      HOLDFAST_GATEWAY_JSON: "1",
    };
    expect(read(["dev"], env)).toEqual({ options: {}, command });
  });

  test.each([
    [{ HOLDFAST_GATEWAY_PORT: "many" }, 'HOLDFAST_GATEWAY_PORT must be a port from 0 to 65535, not "many".'],
    [{ HOLDFAST_GATEWAY_PLAIN: "maybe" }, 'HOLDFAST_GATEWAY_PLAIN must be true or false, not "maybe".'],
    [{ HOLDFAST_GATEWAY_EXTENSIONS: "magic" }, "HOLDFAST_GATEWAY_EXTENSIONS must be one of checkpoint,"],
    [{ HOLDFAST_GATEWAY_ALLOWED_ORIGINS: "a" }, 'allowedOrigins must be origins such as "https://app.example.com"'],
  ])("the invalid variables %j are rejected by name", (env, message) => {
    expect(() => read(["dev"], env)).toThrow(message);
    expect(() => read(["dev"], env)).toThrow(expect.objectContaining({ code: "GATEWAY_USAGE" }));
  });

  test("options that the chosen store does not use are named as they were given", () => {
    const env = { HOLDFAST_STORE: "memory", DATABASE_URL: "postgres://h/d" };
    const sentence = "The memory store does not use DATABASE_URL, --no-keep-data: omit them, or HOLDFAST_STORE memory.";
    expect(() => read(["dev", "--no-keep-data"], env)).toThrow(sentence);
  });

  test("--help and --version are recognised, and no command is a wish for help", () => {
    for (const args of [[], ["--help"], ["help"]]) {
      expect(parseCommandLine(args)).toMatchObject({ type: "help", text: expect.stringContaining("Run a gateway:") });
    }
    for (const args of [
      ["dev", "-h"],
      ["help", "dev"],
    ]) {
      expect(parseCommandLine(args)).toMatchObject({ type: "help", text: expect.stringContaining("--data-dir") });
    }
    expect(parseCommandLine(["keys"])).toMatchObject({ type: "help", text: expect.stringContaining("create") });
    expect(parseCommandLine(["--version"])).toEqual({ type: "version" });
  });

  test.each([
    [["serve"], 'Unknown command "serve". "holdfast-gateway --help" lists all commands.'],
    [["strat"], 'Unknown command "strat". Did you mean start?'],
    [["keys", "creat"], 'Unknown command "creat". Did you mean create?'],
    [["dev", "--bogus"], 'Unknown option "--bogus". "holdfast-gateway dev --help"'],
    [["dev", "--prot", "1"], 'Unknown option "--prot". Did you mean --port?'],
    [["help", "strat"], 'Unknown command "strat". Did you mean start?'],
    [["strat", "--help"], 'Unknown command "strat". Did you mean start?'],
    [["dev", "extra"], 'Too many arguments for "dev"'],
    [["run"], 'Missing required argument "run"'],
    [["start", "--store", "memory"], '--store is for development: "start" runs on your own Postgres'],
    [["start", "--virtual-time"], "--virtual-time is for development"],
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
    [
      ["dev", "--store", "memory", "--data-dir", "x"],
      "The memory store does not use --data-dir: omit it, or --store memory.",
    ],
  ])("the command line %j is rejected with one sentence", (args, text) => {
    const sentence = refusal(args);
    expect(sentence).toContain("GATEWAY_USAGE");
    expect(sentence).toContain(text);
    expect(sentence).not.toContain("\n");
  });
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
    expect(read(["dev", "--keys", file])).toMatchObject({ options: { keys: [key] } });
    expect(read(["dev"], { HOLDFAST_KEYS_FILE: file })).toMatchObject({ options: { keys: [key] } });
  } finally {
    await rm(folder, { recursive: true });
  }
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

test("a command below another one has the options that are given after it, and before it", () => {
  for (const args of [
    ["workers", "drain", "web-1", "--url", "http://gateway", "--json"],
    ["workers", "--url", "http://gateway", "drain", "--json", "web-1"],
  ]) {
    expect(parseCommandLine(args)).toEqual({
      type: "command",
      name: "workers drain",
      args: ["web-1"],
      flags: { url: ["http://gateway"], json: true },
    });
  }
});

test("the version of the program is printed where it alone is asked for, and never in place of a command", () => {
  const asked = (...args: string[]) => {
    try {
      return parseCommandLine(args).type;
    } catch (error) {
      return String(error);
    }
  };
  expect(asked("--version")).toBe("version");
  for (const command of ["publish", "get", "run"]) {
    for (const version of [["--version", "1"], ["--version=1"], ["--version"]]) {
      expect(asked("graphs", command, "g", ...version)).toMatch(
        /Unknown option "--version"\. The version of a graph is --graph-version\./,
      );
    }
  }
  expect(asked("rollout", "shop", "--version", "2.0")).toContain('Unknown option "--version"');
  expect(asked("dev", "--version=1")).toContain('Unknown option "--version"');
});
