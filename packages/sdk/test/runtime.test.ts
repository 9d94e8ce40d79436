import { createRequire } from "node:module";
import { describe, expect, it, test } from "vitest";
import { checkRuntime, nodeModule, type Runtime } from "../src/runtime.ts";

const require = createRequire(import.meta.url);
const full = {
  SharedArrayBuffer,
  fetch,
  process: {
    versions: { node: "20.19.0" } as Record<string, string>,
    getBuiltinModule: (name: string): object | undefined => require(name),
  },
} satisfies Runtime;

/** The error of a runtime that is `full` with changes to its process. */
function refusal(process: Partial<NonNullable<Runtime["process"]>>, globals: Partial<Runtime> = {}): unknown {
  try {
    checkRuntime({ ...full, ...globals, process: { ...full.process, ...process } });
    return "none";
  } catch (error) {
    return error;
  }
}

const refused = (text: RegExp): unknown =>
  expect.objectContaining({ code: "RUNTIME_UNSUPPORTED", message: expect.stringMatching(text) });
const without = (absent: string) => (name: string) => (name === absent ? undefined : require(name));

describe("checkRuntime", () => {
  it("the running Node is accepted", () => {
    expect(() => checkRuntime()).not.toThrow();
  });

  it.each(["20.19.0", "20.20.2", "22.3.0", "24.0.0", "26.1.0"])("Node %s is accepted", (node) => {
    expect(refusal({ versions: { node } })).toBe("none");
  });

  it.each(["18.20.8", "20.18.3", "21.7.3", "22.2.0"])(
    "Node %s is rejected with its version and the required one",
    (node) => {
      expect(refusal({ versions: { node } })).toEqual(refused(new RegExp(`Node ${node}\\. Use Node 20\\.19, 22\\.3`)));
    },
  );

  it("Bun and Deno are recognised by their features, not by the Node version they report", () => {
    expect(refusal({ versions: { node: "18.0.0", bun: "1.4.4" } })).toBe("none");
    expect(
      refusal({ versions: { node: "24.0.0", bun: "1.0.0" }, getBuiltinModule: without("node:worker_threads") }),
    ).toEqual(refused(/Bun 1\.0\.0.*lacks node:worker_threads/));
  });

  it.each(["node:worker_threads", "node:async_hooks", "node:crypto", "node:os"])(
    "a missing module is named: %s",
    (name) => {
      expect(refusal({ getBuiltinModule: without(name) })).toEqual(refused(new RegExp(`lacks ${name}`)));
    },
  );

  it("missing globals are named", () => {
    expect(refusal({}, { SharedArrayBuffer: undefined })).toEqual(refused(/lacks SharedArrayBuffer/));
    expect(refusal({}, { fetch: undefined })).toEqual(refused(/lacks fetch/));
  });

  it.each<[string, Runtime, RegExp]>([
    ["a browser", { window: {}, fetch }, /from a browser\. It needs threads \(node:worker_threads\)/],
    ["a browser's worker", { importScripts: () => {}, fetch }, /a browser's worker/],
    ["an edge runtime", { EdgeRuntime: "edge-runtime", fetch, process: {} }, /an edge runtime/],
    ["another edge runtime", { navigator: { userAgent: "Cloudflare-Workers" } }, /an edge runtime/],
    ["nothing at all", {}, /this runtime/],
  ])("%s is rejected", (_name, runtime, text) => {
    expect(() => checkRuntime(runtime)).toThrow(text);
  });

  it("a renderer process of Electron is rejected, its main process accepted", () => {
    const versions = { node: "22.20.0", electron: "40.0.0" };
    expect(refusal({ versions, type: "renderer" })).toEqual(refused(/renderer process of Electron.*main process/));
    expect(refusal({ versions, type: "browser" })).toBe("none");
    expect(refusal({ versions: { ...versions, node: "18.1.0" } })).toEqual(
      refused(/Electron 40\.0\.0 \(Node 18\.1\.0\)/),
    );
  });

  it("the flag that the permission model needs is named", () => {
    const allows = (...scopes: string[]) => ({ has: (scope: string) => scopes.includes(scope) });
    const net = new Set(["--allow-net"]);
    expect(refusal({ permission: allows() })).toEqual(refused(/--allow-worker/));
    expect(refusal({ permission: allows("worker") })).toBe("none");
    expect(refusal({ permission: allows("worker"), allowedNodeEnvironmentFlags: net })).toEqual(refused(/--allow-net/));
    expect(refusal({ permission: allows("worker", "net"), allowedNodeEnvironmentFlags: net })).toBe("none");
  });
});

test("modules found through Node are the same as imported ones", () => {
  expect(nodeModule("node:os")).toBe(require("node:os"));
});
