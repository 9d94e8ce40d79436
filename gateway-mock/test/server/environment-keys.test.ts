import { expect, test } from "vitest";
import { resolveConfig } from "../../src/config/config.ts";
import type { GatewayKey } from "../../src/config/keys-config.ts";
import { hashSigningKey } from "../../src/http/keys.ts";
import type { Gateway } from "../../src/server.ts";
import { useGateway } from "./harness.ts";
import { helloFrame, RawWorker } from "./raw-worker.ts";

const bench = useGateway();

const hex = (digit: string): string => digit.repeat(32);
const signing = { preview: hex("a"), production: hex("b"), fallback: hex("c"), any: hex("d"), default: hex("e") };
const keys: readonly GatewayKey[] = [
  { name: "apps of preview", kind: "signing", key: signing.preview, environment: "preview" },
  { name: "apps of production", kind: "signing", key: signing.production, environment: "production" },
  { name: "the same, old", kind: "signing", key: signing.fallback, environment: "production" },
  { name: "apps of the default environment", kind: "signing", key: signing.default, environment: "default" },
  { name: "ci", kind: "signing", key: signing.any },
  { name: "shop of preview", kind: "event", key: "events-preview", environment: "preview" },
  { name: "shop of production", kind: "event", key: "events-production", environment: "production" },
  { name: "tools", kind: "event", key: "events-any" },
];

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${hashSigningKey(key)}` });

interface Answer {
  readonly status: number;
  readonly body: {
    readonly code?: string;
    readonly error?: string;
    readonly ids?: string[];
    readonly runs?: { environment: string }[];
  };
}

async function ask(gateway: Gateway, path: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  const init = body === undefined ? {} : { method: "POST", body };
  const response = await fetch(new URL(path, gateway.url), { ...init, headers });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

const send = (gateway: Gateway, key: string, environment?: string): Promise<Answer> =>
  ask(gateway, `/e/${key}`, environment === undefined ? {} : { "x-inngest-env": environment }, '{"name":"shop/order"}');

/** A connection up to its end, or to readiness. */
async function connected(gateway: Gateway, key: string, start?: string, hello?: string): Promise<unknown> {
  const headers = { ...bearer(key), ...(start === undefined ? {} : { "x-inngest-env": start }) };
  const options = { url: gateway.url, headers, ...(hello === undefined ? {} : { environment: hello }) };
  const { worker, connectionId, token } = await RawWorker.open({ url: gateway.url, headers });
  try {
    await worker.frame("GATEWAY_HELLO");
    worker.send(helloFrame(options, connectionId, worker.instanceId, token));
    const first = await Promise.race([worker.frame("GATEWAY_CONNECTION_READY"), worker.frame("SYNC_FAILED")]);
    return first.kind === "SYNC_FAILED" ? first.message : "ready";
  } finally {
    worker.cut();
  }
}

test("a key gives access to its environment and no other, whatever the request asks for", async () => {
  const gateway = await bench.gateway({ keys });
  const options = { url: gateway.url, headers: bearer(signing.any), environment: "preview" };
  const { worker, connectionId } = await RawWorker.open(options);
  worker.send(helloFrame(options, connectionId, "without-a-token"));
  expect(await worker.gone()).toMatchObject({ reason: "connect_authentication_failed" });
  for (const [key, start, hello] of [
    [signing.preview, undefined, undefined],
    [signing.preview, "preview", "preview"],
    [signing.production, undefined, "production"],
    [signing.fallback, "production", "production"],
    [signing.default, undefined, undefined],
    [signing.default, "default", "default"],
    [signing.any, "elsewhere", "elsewhere"],
    [signing.any, undefined, undefined],
  ] as const) {
    expect([start, hello, await connected(gateway, key, start, hello)]).toEqual([start, hello, "ready"]);
  }
  for (const [key, hello] of [
    [signing.preview, "production"],
    [signing.default, "preview"],
    [signing.any, "preview"],
  ] as const) {
    expect(await connected(gateway, key, undefined, hello)).toMatch(/belongs to the environment ".*", not to/);
  }
  expect(await ask(gateway, "/v1/runs", { ...bearer(signing.preview), "x-inngest-env": "production" })).toMatchObject({
    status: 403,
    body: { code: "ENVIRONMENT_REFUSED", error: expect.stringContaining("apps of preview") },
  });
  for (const [key, asked, status] of [
    ["events-preview", undefined, 200],
    ["events-preview", "preview", 200],
    ["events-preview", "production", 403],
    ["events-preview", "default", 403],
    ["events-any", "anything", 200],
    ["events-any", undefined, 200],
    ["wrong", undefined, 401],
  ] as const) {
    const answer = await send(gateway, key, asked);
    expect([key, asked, answer.status]).toEqual([key, asked, status]);
    if (status === 403) expect(answer.body.code).toBe("ENVIRONMENT_REFUSED");
  }
});

test("the log says once that a worker was refused, and names apps with their environment", async () => {
  const lines: string[] = [];
  const gateway = await bench.gateway({ keys, log: (level, message) => void lines.push(`${level}: ${message}`) });
  for (let call = 0; call < 3; call += 1) {
    const headers = { ...bearer(signing.preview), "x-inngest-env": "production" };
    expect((await ask(gateway, "/v0/connect/start", headers, "")).status).toBe(403);
    expect((await ask(gateway, "/v0/connect/start", bearer("ff".repeat(16)), "")).status).toBe(401);
  }
  expect(lines.filter((line) => line.includes("refused"))).toEqual([
    'warn: A worker was refused: The key (apps of preview) belongs to the environment "preview", not to "production".',
    "warn: A worker was refused: The signing key is missing or wrong: expected `Authorization: Bearer <the key, or its hash>`.",
  ]);
  await bench.worker(gateway, { headers: bearer(signing.production), app: "ops", instanceId: "vm-1" });
  await bench.worker(gateway, { headers: bearer(signing.default), app: "ops", instanceId: "vm-2" });
  expect(lines).toContainEqual("info: ops in production (vm-1): ready");
  expect(lines).toContainEqual("info: ops (vm-2): ready");
});

test("reads and events use the environment of the key", async () => {
  const gateway = await bench.gateway({ keys });
  for (const key of [signing.preview, signing.production, signing.default]) {
    expect(await connected(gateway, key)).toBe("ready");
  }
  for (const key of ["events-preview", "events-production", "events-production", "events-any"])
    await send(gateway, key);
  await send(gateway, "events-any", "preview");
  const counts = async (key: string, headers: Record<string, string> = {}): Promise<string[] | undefined> =>
    (await ask(gateway, "/v1/runs", { ...bearer(key), ...headers })).body.runs?.map(({ environment }) => environment);
  expect(await counts(signing.preview)).toEqual(["preview", "preview"]);
  expect(await counts(signing.production)).toEqual(["production", "production"]);
  expect(await counts(signing.fallback)).toEqual(["production", "production"]);
  expect(await counts(signing.default)).toEqual(["default"]);
  expect(await counts(signing.any)).toEqual(["default"]);
  expect(await counts(signing.any, { "x-inngest-env": "preview" })).toEqual(["preview", "preview"]);
  const { runs } = await bench.store.listRuns({ limit: 100 });
  for (const { id } of runs) {
    const answers = [signing.preview, signing.production, signing.default].map(
      async (key) => (await ask(gateway, `/v1/runs/${id}/cancel`, bearer(key), "")).status,
    );
    expect((await Promise.all(answers)).sort()).toEqual([200, 404, 404]);
  }
});

test.each(["", "a b", "a:b", "ä", "x".repeat(129), "two, three"])(
  "the invalid environment name %j is rejected with a code",
  async (name) => {
    const gateway = await bench.gateway();
    const answer = await send(gateway, "any", Buffer.from(name).toString("latin1"));
    expect([answer.status, answer.body.code]).toEqual(name === "" ? [200, undefined] : [400, "ENVIRONMENT_INVALID"]);
    const { worker, connectionId } = await RawWorker.open({ url: gateway.url });
    await worker.frame("GATEWAY_HELLO");
    worker.send(helloFrame({ url: gateway.url, environment: name }, connectionId, worker.instanceId));
    if (name === "") await worker.frame("GATEWAY_CONNECTION_READY");
    else expect((await worker.frame("SYNC_FAILED")).message).toContain("names the environment");
    worker.cut();
  },
);

test.each([
  ["a name twice", [keys[0], { ...keys[1], name: "apps of preview" }], /Two keys have the name/],
  [
    "one key for two",
    [keys[0], { ...keys[0], name: "again", environment: "other" }],
    /the same key for two environments/,
  ],
  ["no name", [{ kind: "event", key: "k" }], /needs a `name`/],
  ["no kind", [{ name: "n", key: "k" }], /signing or event/],
  ["an unknown field", [{ ...keys[0], env: "x" }], /unknown field `env`/],
  ["no hex", [{ name: "n", kind: "signing", key: "passwort" }], /hex digits/],
  ["no environment's name", [{ ...keys[0], environment: "a b" }], /names the environment/],
  ["text", ["signkey"], /must be/],
] as const)("a key configuration is rejected: %s", (_, given, why) => {
  expect(() => resolveConfig({ keys: given as never })).toThrow(why);
});
