import { describe, expect, test } from "vitest";
import { CLIENT_OPTIONS } from "../../src/cli/client-options.ts";
import { DOCTOR_OPTIONS } from "../../src/cli/doctor-options.ts";
import { gatewayClient } from "../../src/cli/gateway-client.ts";
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

  test("doctor looks where the others do, also where HOLDFAST_DEV is a switch", () => {
    const { url } = DOCTOR_OPTIONS;
    const doctorUrl = (env: Readonly<Record<string, string>>): unknown =>
      readSettings({ url }, { flags: {}, env })[0]?.value;
    expect(doctorUrl({ HOLDFAST_DEV: "1" })).toBe("http://localhost:8288");
    expect(doctorUrl({ HOLDFAST_DEV: "localhost:9000/" })).toBe("http://localhost:9000");
    expect(doctorUrl({})).toBeUndefined();
  });

  test("a path before those of the routes is kept", () => {
    expect(urlOf({}, "https://internal.test/holdfast/")).toBe("https://internal.test/holdfast");
  });

  test.each(["http://me:s3cr3t@host", "me:s3cr3t@host:8288", "ftp://me:s3cr3t@host", "http://me:s3@cr3t@:x"])(
    "%s is refused without its password",
    (url) => {
      for (const read of [() => urlOf({}, url), () => gatewayClient({ url })]) {
        expect(read).toThrow(/must look like http:\/\/localhost:8288, without a user or a password/);
        expect(read).not.toThrow(/s3|cr3t/);
      }
    },
  );

  test.each([
    [{ HOLDFAST_DEV: "nope" }, /HOLDFAST_DEV must be 1, 0 or an address such as http:\/\/localhost:8288, not "nope"/],
    [{ HOLDFAST_BASE_URL: "nope" }, /HOLDFAST_BASE_URL must look like http:\/\/localhost:8288, not "nope"/],
    [{ HOLDFAST_BASE_URL: "http:/nope" }, /HOLDFAST_BASE_URL must look like/],
    [{ HOLDFAST_GATEWAY_URL: "ftp://nope.test" }, /HOLDFAST_GATEWAY_URL must look like/],
    [{ HOLDFAST_GATEWAY_URL: "http://a/?b=1#c" }, /must look like http:\/\/localhost:8288, without "\?b=1#c"/],
  ])("%j is refused", (env, why) => {
    expect(() => urlOf(env)).toThrow(why);
  });
});
