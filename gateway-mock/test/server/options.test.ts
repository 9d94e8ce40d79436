import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { resolveConfig } from "../../src/config/config.ts";
import { startGateway } from "../../src/server.ts";
import { VERSION } from "../../src/version.ts";
import { SIGNING_KEY, useGateway } from "./harness.ts";

const bench = useGateway();

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
