import { describe, expect, test } from "vitest";
import { CLIENT_OPTIONS } from "../../src/cli/client-options.ts";
import { readSettings, valuesOf } from "../../src/config/settings.ts";

const urlOf = (env: Readonly<Record<string, string>>, ...url: string[]): string =>
  valuesOf(CLIENT_OPTIONS, readSettings(CLIENT_OPTIONS, { flags: url.length > 0 ? { url } : {}, env })).url;

describe("Where commands find the gateway", () => {
  test.each<[Readonly<Record<string, string>>, string]>([
    [{}, "http://localhost:8288"],
    [{ HOLDFAST_DEV: "1" }, "http://localhost:8288"],
    [{ HOLDFAST_DEV: "true" }, "http://localhost:8288"],
    [{ HOLDFAST_DEV: "0" }, "http://localhost:8288"],
    [{ HOLDFAST_DEV: "http://localhost:9000/" }, "http://localhost:9000"],
    [{ HOLDFAST_DEV: "localhost:9000" }, "http://localhost:9000"],
    [{ HOLDFAST_DEV: "http://a", HOLDFAST_BASE_URL: "http://b" }, "http://b"],
    [{ HOLDFAST_BASE_URL: "http://b", HOLDFAST_API_BASE_URL: "http://c" }, "http://c"],
    [{ HOLDFAST_API_BASE_URL: "http://c", HOLDFAST_GATEWAY_URL: "gateway.test:80" }, "http://gateway.test"],
    // It may be Inngest's service, which is given no key of ours.
    [{ INNGEST_BASE_URL: "http://d", INNGEST_DEV: "http://e" }, "http://localhost:8288"],
  ])("%j: %s", (env, expected) => {
    expect(urlOf(env)).toBe(expected);
    expect(urlOf(env, "http://flag")).toBe("http://flag");
  });

  test.each([
    [{ HOLDFAST_DEV: "nope" }, /HOLDFAST_DEV must be 1, 0 or an address such as http:\/\/localhost:8288, not "nope"/],
    [{ HOLDFAST_BASE_URL: "nope" }, /HOLDFAST_BASE_URL must look like http:\/\/localhost:8288, not "nope"/],
    [{ HOLDFAST_BASE_URL: "http:/nope" }, /HOLDFAST_BASE_URL must look like/],
    [{ HOLDFAST_GATEWAY_URL: "ftp://nope.test" }, /HOLDFAST_GATEWAY_URL must look like/],
  ])("%j is refused", (env, why) => {
    expect(() => urlOf(env)).toThrow(why);
  });
});
