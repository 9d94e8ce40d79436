import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ClientOptions } from "../../src/app/client-options.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { resolveClientOptions } from "../../src/app/resolve-client-options.ts";
import { hashSigningKey } from "../../src/app/signing-key.ts";
import { CONNECT_OPTIONS } from "../../src/connection/main/connect-option-table.ts";
import { asDurationMs, asInteger, asUrl, readOption, readTable } from "../../src/options.ts";

const resolve = (options: Partial<ClientOptions> = {}, env: Record<string, string> = {}) =>
  resolveClientOptions({ id: "app", ...options }, env);
const failsWith = (code: string, text: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

describe("Mode and addresses", () => {
  test("a client is for production by default, and no gateway stands in for one that was not named", () => {
    expect(resolve()).toMatchObject({ mode: "cloud" });
    expect(resolve()).not.toHaveProperty("apiBaseUrl");
    expect(resolve()).not.toHaveProperty("eventBaseUrl");
  });

  test.each([["1"], ["true"], ["TRUE"]])("INNGEST_DEV=%s selects a gateway on this machine", (value) => {
    expect(resolve({}, { INNGEST_DEV: value })).toMatchObject({
      mode: "dev",
      apiBaseUrl: "http://localhost:8288/",
      eventBaseUrl: "http://localhost:8288/",
    });
  });

  test.each([
    ["localhost:9999", "http://localhost:9999/"],
    ["https://gw.test/x", "https://gw.test/x/"],
  ])("INNGEST_DEV=%s selects dev mode at that address", (value, url) => {
    expect(resolve({}, { INNGEST_DEV: value })).toMatchObject({ mode: "dev", apiBaseUrl: url, eventBaseUrl: url });
    expect(resolve({ isDev: true }, { INNGEST_DEV: value }).apiBaseUrl).toBe(url);
    expect(resolve({ isDev: false }, { INNGEST_DEV: value })).toMatchObject({ mode: "cloud" });
    expect(resolve({ isDev: false }, { INNGEST_DEV: value }).apiBaseUrl).toBeUndefined();
  });

  test("an option takes precedence over HOLDFAST_* variables, and these over INNGEST_*", () => {
    const env = { HOLDFAST_DEV: "0", INNGEST_DEV: "1" };
    expect(resolve({ isDev: true }, env).mode).toBe("dev");
    expect(resolve({}, env).mode).toBe("cloud");
    const urls = { INNGEST_BASE_URL: "http://c", INNGEST_API_BASE_URL: "http://b", HOLDFAST_BASE_URL: "http://a" };
    expect(resolve({ baseUrl: "http://x" }, urls).apiBaseUrl).toBe("http://x/");
    expect(resolve({}, urls).apiBaseUrl).toBe("http://a/");
    expect(resolve({}, { INNGEST_BASE_URL: "http://c", INNGEST_API_BASE_URL: "http://b" })).toMatchObject({
      apiBaseUrl: "http://b/",
      eventBaseUrl: "http://c/",
    });
    expect(resolve({}, { HOLDFAST_DEV: "", INNGEST_DEV: "1" }).mode).toBe("dev");
  });

  test("environment names come from the option or the deployment's variables, and are validated", () => {
    expect(resolve({ env: "x" }, { INNGEST_ENV: "y" }).env).toBe("x");
    expect(resolve({}, { HOLDFAST_ENV: "h", INNGEST_ENV: "y" }).env).toBe("h");
    expect(resolve({}, { VERCEL_GIT_COMMIT_REF: "v", BRANCH: "b" }).env).toBe("v");
    expect(resolve().env).toBeUndefined();
    expect(resolve({}, { BRANCH: "dependabot/npm/@types/node-20" }).env).toBe("dependabot/npm/@types/node-20");
    for (const env of ["a b", "a:b", "größer", "x".repeat(129)]) {
      expect(() => resolve({ env })).toThrow(failsWith("ENVIRONMENT_INVALID", "The option `env`"));
      expect(() => resolve({}, { BRANCH: env })).toThrow(failsWith("ENVIRONMENT_INVALID", "variable BRANCH"));
    }
  });
});

describe("Invalid client options", () => {
  test.each<[Partial<ClientOptions>, Record<string, string>, string]>([
    [{ isDev: "maybe" as never }, {}, "`isDev`"],
    [{}, { HOLDFAST_DEV: "http://" }, "HOLDFAST_DEV"],
    [{ baseUrl: "ftp://x" }, {}, "`baseUrl`"],
    [{ baseUrl: "nope" }, {}, '`baseUrl` must be an address such as "http://localhost:8288", not "nope".'],
    [{ baseUrl: "http:/gateway.test" }, {}, "`baseUrl`"],
    [{ baseUrl: "http//gateway.test" }, {}, "`baseUrl`"],
    [{ baseUrl: "http://" }, {}, "`baseUrl`"],
    [{ baseUrl: 8288 as never }, {}, "`baseUrl`"],
    [{}, { HOLDFAST_BASE_URL: "nope" }, "HOLDFAST_BASE_URL"],
    [{}, { HOLDFAST_EVENT_API_BASE_URL: "nope" }, "HOLDFAST_EVENT_API_BASE_URL"],
    [{}, { INNGEST_API_BASE_URL: "not an address" }, "INNGEST_API_BASE_URL"],
    [{ logger: { info: () => {} } as never }, {}, "`logger`"],
    [{ appVersion: "" }, {}, "`appVersion`"],
  ])("the error for invalid options names the option or variable: %j %j", (options, env, text) => {
    expect(() => resolve(options, env)).toThrow(failsWith("OPTION_INVALID", text));
  });

  test("a missing id, and a branch key without an environment, are rejected", () => {
    expect(() => new Holdfast({ id: "" }, {})).toThrow(failsWith("OPTION_MISSING", "`id`"));
    const signingKey = "signkey-branch-0123456789abcdef0123456789abcdef";
    expect(() => resolve({ signingKey })).toThrow(failsWith("OPTION_MISSING", "HOLDFAST_ENV"));
    expect(resolve({ signingKey, env: "b" }).signingKey?.reveal()).toBe(
      "signkey-branch-223e0a160af9da0a03e6dd2c4719c56f5d66a633cbe84e78aaa9f3735865522a",
    );
  });

  test("the error for an invalid key does not show the key", () => {
    const fail = () => resolve({ eventKey: 12345 as never });
    expect(fail).toThrow(failsWith("OPTION_INVALID", "`eventKey`"));
    expect(fail).not.toThrow("12345");
  });
});

describe("Keys", () => {
  test.each([
    [
      "signkey-test-00112233445566778899aabbccddeeff",
      "signkey-test-a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811",
    ],
    [
      "signkey-prod-FFEEDDCCBBAA99887766554433221100",
      "signkey-prod-811407f10d6c0f49a056cc8c01a15e42816b9d39df858e9f6c05fc5c9189b136",
    ],
    [
      "signkey-branch-0123456789abcdef0123456789abcdef",
      "signkey-branch-223e0a160af9da0a03e6dd2c4719c56f5d66a633cbe84e78aaa9f3735865522a",
    ],
    ["0123456789abcdef0123456789abcdef", "223e0a160af9da0a03e6dd2c4719c56f5d66a633cbe84e78aaa9f3735865522a"],
  ])("the signing key %s is hashed as other SDKs hash it", (key, hashed) => {
    expect(hashSigningKey(key)).toBe(hashed);
  });

  test.each([
    ["passwords", "signkey-prod-my-super-production-passwort"],
    ["text", "Tr0ub4dor&3 correct horse battery staple!"],
    ["signs", "!!!???"],
    ["a letter among the digits", `signkey-prod-${"0".repeat(31)}g`],
    ["dashes between the digits", "signkey-prod-0123-4567-89ab-cdef-0123-4567-89ab-cdef"],
    ["too few digits", `signkey-prod-${"0".repeat(30)}`],
    ["an odd number of digits", `signkey-prod-${"0".repeat(33)}`],
  ])("a signing key of %s is rejected with how to create a valid one", (_, key) => {
    const refused = failsWith("SIGNING_KEY_INVALID", "openssl rand -hex 32");
    expect(() => resolve({ signingKey: key })).toThrow(refused);
    expect(() => resolve({ signingKey: key })).not.toThrow(key);
    expect(() => resolve({}, { INNGEST_SIGNING_KEY: key })).toThrow(/^The environment variable INNGEST_SIGNING_KEY/);
    expect(() => resolve({ signingKeyFallback: key })).toThrow(/^The option `signingKeyFallback`/);
  });

  test("keys never appear in printed or serialised options", () => {
    const client = new Holdfast(
      {
        id: "app",
        signingKey: "signkey-test-00112233445566778899aabbccddeeff",
        signingKeyFallback: "f9".repeat(16),
        eventKey: "evkey",
      },
      {},
    );
    const printed = [
      inspect(client, { depth: 9, showHidden: true }),
      JSON.stringify(client),
      String(client.options.eventKey),
    ].join();
    expect(printed).toContain("[secret]");
    expect(printed).not.toMatch(/00112233|a8faed|f9f9|evkey/);
    expect(client.options.signingKey?.reveal()).toMatch(/^signkey-test-a8faed/);
  });

  test("missing, misspelled and wrongly typed options are reported", () => {
    const make = (options?: unknown) => () => new Holdfast(options as never, {});
    expect(make()).toThrow(failsWith("OPTION_MISSING", "`id`"));
    expect(make(null)).toThrow(failsWith("OPTION_MISSING", "`id`"));
    expect(make("shop")).toThrow(failsWith("OPTION_MISSING", "`id`"));
    expect(make({ id: "a", signinKey: "x" })).toThrow(
      failsWith("OPTION_INVALID", "no option `signinKey` (did you mean `signingKey`?); valid options: `id`, "),
    );
    expect(make({ id: "a", baseURL: "x" })).toThrow(failsWith("OPTION_INVALID", "(did you mean `baseUrl`?)"));
    expect(make({ id: "a", fetch: 1 })).toThrow(failsWith("OPTION_INVALID", "`fetch`"));
    expect(make({ id: "a", schemas: [1] })).toThrow(failsWith("OPTION_INVALID", '"0"'));
    expect(make({ id: "a", schemas: { "app/x": {} } })).toThrow(failsWith("OPTION_INVALID", '"app/x"'));
  });

  test.each([
    ["middleware", "no option `middleware`: delete it. To add to what handlers are given, wrap them: "],
    ["checkpointing", "no option `checkpointing`: delete it, "],
    ["experimentalCheckpointing", "no option `experimentalCheckpointing`: delete it, "],
    ["optimizeParallelism", "no option `optimizeParallelism`: delete it, parallel steps "],
    ["internalLogger", "no option `internalLogger`: delete it, "],
  ])("the option %s of the package inngest is refused with what to do instead", (name, text) => {
    const make = () => new Holdfast({ id: "a", [name]: true } as never, {});
    expect(make).toThrow(failsWith("OPTION_INVALID", `The client has ${text}`));
    expect(make).not.toThrow("valid options");
  });

  test("an option that is inherited by every object is not taken for one of the package inngest", () => {
    expect(() => new Holdfast({ id: "a", toString: 1 } as never, {})).toThrow(
      failsWith("OPTION_INVALID", "no option `toString`; valid options: "),
    );
  });

  test("the resolved options are frozen", () => {
    expect(Object.isFrozen(resolve())).toBe(true);
  });
});

describe("Option parsers", () => {
  const read = <T>(given: unknown, parse: (value: unknown, source: string) => T, env = {}) =>
    readOption({ name: "x", given, variables: ["_X"], parse }, env);

  test("integers, durations and addresses are parsed or rejected", () => {
    expect(read("5", asInteger(1, 9))).toBe(5);
    expect(read(undefined, asInteger(1, 9), { INNGEST_X: "7" })).toBe(7);
    expect(() => read(0, asInteger(1))).toThrow(failsWith("OPTION_INVALID", "≥ 1"));
    expect(() => read(undefined, asInteger(1, 9), { INNGEST_X: "x" })).toThrow(
      failsWith("OPTION_INVALID", "INNGEST_X"),
    );
    expect(read("25s", asDurationMs())).toBe(25_000);
    expect(read(undefined, asDurationMs(), { HOLDFAST_X: "1500" })).toBe(1500);
    expect(() => read("soon", asDurationMs())).toThrow(
      failsWith("OPTION_INVALID", 'The option `x` is not a duration: "soon".'),
    );
    expect(read("gw:1/p", asUrl(["ws", "wss"]))).toBe("ws://gw:1/p");
    expect(() => read("http://x", asUrl(["ws", "wss"]))).toThrow(failsWith("OPTION_INVALID", "`x`"));
  });
});

describe("Durations beyond their bounds", () => {
  const read =
    (options: object, env = {}) =>
    () =>
      readTable(CONNECT_OPTIONS, { ...options }, env);

  test.each<[object, string]>([
    [{ stallThreshold: "1ms" }, "The option `stallThreshold` must be between 100 ms and 3600000 ms, not 1 ms."],
    [{ maxStall: "10ms" }, "The option `maxStall` must be between 100 ms and 86400000 ms, not 10 ms."],
    [{ yieldAfter: 0 }, "The option `yieldAfter` must be between 1 ms and 3600000 ms, not 0 ms."],
    [{ connectTimeout: 0 }, "The option `connectTimeout` must be between 1 ms and 86400000 ms, not 0 ms."],
    [{ drainTimeout: "-1s" }, "The option `drainTimeout` must be between 0 ms and 86400000 ms, not -1000 ms."],
    [{ drainTimeout: "2d" }, "The option `drainTimeout` must be between 0 ms and 86400000 ms, not 172800000 ms."],
  ])("%j is refused with the bounds", (options, message) => {
    expect(read(options)).toThrow(expect.objectContaining({ code: "OPTION_INVALID", message }));
  });

  test("a variable with such a duration is named", () => {
    expect(read({}, { HOLDFAST_MAX_STALL: "10ms" })).toThrow(
      failsWith("OPTION_INVALID", "The environment variable HOLDFAST_MAX_STALL must be between 100 ms"),
    );
  });
});

describe("Values that are no longer accepted", () => {
  test.each<[string, Partial<ClientOptions>, Record<string, string>, string]>([
    ["an id with NUL", { id: "a\0b" }, {}, "The option `id` contains a control character"],
    ["an id with a new line", { id: "a\nb" }, {}, "The option `id` contains a control character"],
    ["an id of 10,000 characters", { id: "x".repeat(10_000) }, {}, "The option `id` must have at most 200 characters"],
    ["a version with NUL", { appVersion: "1\0" }, {}, "The option `appVersion` contains a control character"],
    [
      "a version in the environment",
      {},
      { HOLDFAST_APP_VERSION: "1\n2" },
      "HOLDFAST_APP_VERSION contains a control character",
    ],
    ["a long version", { appVersion: "1".repeat(257) }, {}, "`appVersion` must have at most 256 characters"],
    ["a word for HOLDFAST_DEV", {}, { HOLDFAST_DEV: "maybe" }, "HOLDFAST_DEV must be 1, 0 or the address of a gateway"],
    ["yes for HOLDFAST_DEV", {}, { HOLDFAST_DEV: "yes" }, "HOLDFAST_DEV must be 1, 0 or the address of a gateway"],
  ])("%s is rejected in one sentence", (_name, options, env, text) => {
    expect(() => resolve(options, env)).toThrow(failsWith("OPTION_INVALID", text));
  });

  test.each(["localhost", "gateway.internal", "gateway:8288", "http://gateway"])(
    "HOLDFAST_DEV=%s is accepted as an address",
    (value) => {
      expect(resolve({}, { HOLDFAST_DEV: value }).mode).toBe("dev");
    },
  );
});

describe("A signing key where there is no node:crypto", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("is refused by what is missing, and an event key is not", () => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    const refused = failsWith("RUNTIME_UNSUPPORTED", "The option `signingKey` cannot be used here: this runtime lacks");
    expect(() => resolve({ signingKey: "f9".repeat(16) })).toThrow(refused);
    expect(resolve({ eventKey: "some-key" }).eventKey?.reveal()).toBe("some-key");
  });
});
