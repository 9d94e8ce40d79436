import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError, nearestName } from "@holdfast/core";
import { expect, onTestFinished, test } from "vitest";
import { readConfigFile } from "../../src/config/config-file.ts";
import { gatewayOptions, gatewayRows } from "../../src/config/modes.ts";
import { durationText, maskedUrl, shownSettings } from "../../src/config/print-config.ts";
import { type Given, givenValues, readSettings } from "../../src/config/settings.ts";
import { unknownVariables } from "../../src/config/unknown-variables.ts";

const SIGNING_KEY = "signkey-test-00112233445566778899aabbccddeeff";
const PRODUCTION = {
  HOLDFAST_DATABASE_URL: "postgres://app:s3cr3t@db/shop",
  HOLDFAST_SIGNING_KEY: SIGNING_KEY,
  HOLDFAST_EVENT_KEY: "the-event-key",
};

const settingsOf = (given: Partial<Given>) => readSettings(gatewayRows(), { flags: {}, env: {}, ...given });

function configFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "holdfast.json");
  writeFileSync(path, text);
  return path;
}

const NAMES = Object.keys(gatewayRows());

function thrown(work: () => unknown): HoldfastError {
  try {
    work();
  } catch (error) {
    if (HoldfastError.is(error)) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

test("a flag comes before a variable, a variable before the file, the file before the default, each with its source", () => {
  const path = configFile(
    '{ "port": 1, "host": "::1", "leaseMs": "30s", "drainMs": 2000, "allowedHosts": ["a.test"] }',
  );
  const file = readConfigFile(path, NAMES);
  const settings = settingsOf({
    flags: { port: ["3"] },
    env: { HOLDFAST_GATEWAY_PORT: "2", HOLDFAST_GATEWAY_HOST: "127.0.0.2" },
    file,
  });
  const of = (name: string) => settings.find((one) => one.name === name);
  expect(of("port")).toMatchObject({ value: 3, source: { type: "flag", name: "port" } });
  expect(of("host")).toMatchObject({ value: "127.0.0.2", source: { type: "variable", name: "HOLDFAST_GATEWAY_HOST" } });
  expect(of("leaseMs")).toMatchObject({ value: 30_000, source: { type: "file", path } });
  expect(of("drainMs")).toMatchObject({ value: 2_000, source: { type: "file" } });
  expect(of("allowedHosts")).toMatchObject({ value: ["a.test"], source: { type: "file" } });
  expect(of("maxConnections")).toMatchObject({ value: 10, source: { type: "default" } });
  expect(Object.keys(givenValues(settings)).sort()).toEqual(["allowedHosts", "drainMs", "host", "leaseMs", "port"]);
});

test("everything that is wrong is said at once, and by where it came from", () => {
  const error = thrown(() =>
    settingsOf({ flags: { port: ["many"], host: [""] }, env: { HOLDFAST_GATEWAY_PLAIN: "maybe" } }),
  );
  expect(error.code).toBe("GATEWAY_USAGE");
  expect(error.message).toContain("3 options are invalid:");
  for (const source of [
    "--port must be a port",
    "--host needs a value",
    "HOLDFAST_GATEWAY_PLAIN must be true or false",
  ]) {
    expect(error.message).toContain(source);
  }
});

test("a configuration file that cannot be used is refused without showing what is in it", () => {
  const refused = (text: string): HoldfastError => thrown(() => readConfigFile(configFile(text), NAMES));
  for (const [text, why] of [
    ['{ "signingKey": "s3cr3t"', "it is not JSON"],
    ['["s3cr3t"]', "must hold an object"],
    ['{ "prot": 1, "$schema": "x" }', "unknown options: `prot` (did you mean `port`?)"],
  ] as const) {
    const error = refused(text);
    expect([error.code, error.message]).toEqual(["OPTION_INVALID", expect.stringContaining(why)]);
    expect(error.message).not.toContain("s3cr3t");
  }
  const wrong = configFile('{ "port": "many" }');
  expect(thrown(() => settingsOf({ file: readConfigFile(wrong, NAMES) })).message).toContain(`\`port\` in ${wrong}`);
});

test("start names all that it lacks, and what belongs to dev, in one error", () => {
  const error = thrown(() => gatewayOptions("start", settingsOf({ env: { HOLDFAST_STORE: "memory" } })));
  expect(error.code).toBe("START_INCOMPLETE");
  for (const part of ["a database:", "a signing key:", "an event key:", "`store` left out (HOLDFAST_STORE)"]) {
    expect(error.message).toContain(part);
  }
  const short = { ...PRODUCTION, HOLDFAST_SIGNING_KEY: "s3cr3t", HOLDFAST_GATEWAY_VIRTUAL_TIME: "1" };
  const other = thrown(() => gatewayOptions("start", settingsOf({ env: short }))).message;
  expect(other).toContain("keys that can be used:");
  expect(other).toContain("`virtualTime` left out (HOLDFAST_GATEWAY_VIRTUAL_TIME)");
  expect(other).not.toContain("s3cr3t");
});

test("start has nothing of a test gateway, and does not let steps call the private network unless it is told to", () => {
  const harmless = { HOLDFAST_STORE: "postgres", HOLDFAST_GATEWAY_VIRTUAL_TIME: "off" };
  expect(gatewayOptions("start", settingsOf({ env: { ...PRODUCTION, ...harmless } }))).toEqual({
    databaseUrl: PRODUCTION.HOLDFAST_DATABASE_URL,
    signingKey: SIGNING_KEY,
    eventKey: "the-event-key",
    allowPrivateFetch: false,
  });
  const allowed = { ...PRODUCTION, HOLDFAST_GATEWAY_ALLOW_PRIVATE_FETCH: "on" };
  expect(gatewayOptions("start", settingsOf({ env: allowed })).allowPrivateFetch).toBe(true);
  expect(gatewayOptions("dev", settingsOf({ env: {} }))).toEqual({});
  const given = settingsOf({ env: { HOLDFAST_RETENTION_COMPLETED: "off", HOLDFAST_RETENTION_FAILED: "1d" } });
  expect(gatewayOptions("dev", given)).toEqual({ retentionCompletedMs: "off", retentionFailedMs: 86_400_000 });
  expect(() => settingsOf({ env: { HOLDFAST_RETENTION_FAILED: "0s" } })).toThrow("between 1s and 3650d");
});

test("a printed configuration has every option and its source, and no secret", () => {
  const keys = [{ name: "ci", kind: "signing", key: SIGNING_KEY, environment: "preview" }];
  const file = readConfigFile(configFile(JSON.stringify({ keys })), NAMES);
  const shown = shownSettings(settingsOf({ env: PRODUCTION, file }));
  expect(shown.map(({ option }) => option)).toEqual(NAMES);
  const text = JSON.stringify(shown);
  for (const secret of ["s3cr3t", SIGNING_KEY.slice(-32), "the-event-key"]) expect(text).not.toContain(secret);
  const of = (option: string) => shown.find((one) => one.option === option);
  expect(of("databaseUrl")).toMatchObject({
    source: "HOLDFAST_DATABASE_URL",
    value: "postgres://app:********@db/shop",
  });
  expect(of("keys")?.value).toEqual([{ ...keys[0], key: "********" }]);
  expect(of("port")).toEqual({ option: "port", value: 8288, source: "default" });
});

test("a variable that no option has is named, with the one that was probably meant; those of apps are not", () => {
  const known = ["HOLDFAST_GATEWAY_PORT", "HOLDFAST_GATEWAY_HOST", "HOLDFAST_STORE"];
  const env = {
    HOLDFAST_GATEWAY_PROT: "1",
    HOLDFAST_GATEWAY_HOST: "::1",
    HOLDFAST_DEV: "1",
    HOLDFAST_GATEWAY_XYZZY: "",
  };
  expect(unknownVariables(env, known)).toEqual([
    "The variable HOLDFAST_GATEWAY_PROT is set, but no option has that name; it is ignored. Did you mean HOLDFAST_GATEWAY_PORT?",
  ]);
});

test.each([
  [604_800_000, "7d"],
  [90_000_000, "25h"],
  [300_000, "5m"],
  [25_000, "25s"],
  [1_500, "1500ms"],
  [0, "0ms"],
])("%i milliseconds are printed as %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("a database address is shown without its password, wherever that is", () => {
  expect(maskedUrl("postgres://u:p@h/d?password=x&sslmode=require")).toBe(
    "postgres://u:********@h/d?password=********&sslmode=require",
  );
  expect(maskedUrl("postgres://h/d")).toBe("postgres://h/d");
  expect(maskedUrl("postgres://u:p ä@[h")).not.toContain("p");
});

test("the nearest name is found for a slip of a letter, and none for another word", () => {
  expect(nearestName("shop/order.place", ["shop/order.placed", "shop/paid"])).toBe("shop/order.placed");
  expect(nearestName("PORT", ["port"])).toBe("port");
  expect(nearestName("invoice", ["shop/order.placed"])).toBeUndefined();
  expect(nearestName("x", [])).toBeUndefined();
});
