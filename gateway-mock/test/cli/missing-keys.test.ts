import { afterEach, expect, test, vi } from "vitest";
import { type ClientSettings, gatewayClient } from "../../src/cli/gateway-client.ts";
import { jsonArgument, jsonFile } from "../../src/cli/json-argument.ts";

afterEach(() => void vi.unstubAllGlobals());

/** What a client says when the gateway refuses its key. */
async function refused(settings: Partial<ClientSettings>, call: "event" | "runs"): Promise<string> {
  const answer = { error: `The ${call === "event" ? "event" : "signing"} key is wrong.`, code: "UNAUTHORIZED" };
  vi.stubGlobal("fetch", async () => Response.json(answer, { status: 401 }));
  const client = gatewayClient({ url: "http://gateway.test", ...settings });
  const error = await (call === "event" ? client.sendEvents([{}]) : client.get("/v1/runs")).catch(String);
  return String(error);
}

const SIGNING = { name: "s", kind: "signing", key: "00112233445566778899aabbccddeeff" } as const;

test("a key that is missing is told from one that is wrong, with the way in which keys are given here", async () => {
  expect(await refused({}, "event")).toBe(
    "HoldfastError: The gateway requires the event key, and none was given. Set HOLDFAST_EVENT_KEY, or name a key file with --keys.",
  );
  expect(await refused({}, "runs")).toContain("Set HOLDFAST_SIGNING_KEY,");
  expect(await refused({ keys: [SIGNING] }, "event")).toBe(
    'HoldfastError: The gateway requires the event key, and none was given. The key file has none for this environment: add one of the kind "event".',
  );
  expect(await refused({ eventKey: "x" }, "event")).toBe(
    "HoldfastError: The event key is wrong. Give the key that the gateway was started with.",
  );
  expect(await refused({ keys: [SIGNING] }, "runs")).toContain("The signing key is wrong.");
});

test("a file is named as it was typed", () => {
  expect(() => jsonFile("nope.json")).toThrow(/^nope\.json cannot be read: ENOENT/);
  expect(() => jsonArgument("--data", "@nope.json")).toThrow(/^--data @nope\.json cannot be read: ENOENT/);
  expect(() => jsonArgument("--data", "{")).toThrow(/^--data is not JSON: .* Quote it for the shell/);
  expect(() => jsonFile("vitest.config.ts")).toThrow(/^vitest\.config\.ts is not JSON: (?!.*Quote)/);
});
