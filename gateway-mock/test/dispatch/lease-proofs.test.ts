import { beforeEach, expect, test, vi } from "vitest";
import { LeaseProofs } from "../../src/dispatch/workers/lease-proofs.ts";

const counted = vi.hoisted(() => ({ digests: 0 }));

vi.mock("@holdfast/engine", async (original) => {
  const engine = await original<typeof import("@holdfast/engine")>();
  const hmacSha256Under: typeof engine.hmacSha256Under = (secret) => {
    const digest = engine.hmacSha256Under(secret);
    return (text) => {
      counted.digests += 1;
      return digest(text);
    };
  };
  return { ...engine, hmacSha256Under };
});

const ENDS_MS = 1_760_000_000_000;
const request = { requestId: "job.1", runId: "run" };
const opened = async (): Promise<LeaseProofs> => {
  const proofs = new LeaseProofs();
  await proofs.open({ secret: async () => "a secret of the database" });
  return proofs;
};

beforeEach(() => {
  counted.digests = 0;
});

test("a lease id proves one request of one run and one app, at the gateway that made it and at any other", async () => {
  for (const other of [false, true]) {
    const maker = await opened();
    const leaseId = maker.leaseId(request, "shop", ENDS_MS);
    const proofs = other ? await opened() : maker;
    // Twice: the second answer comes from what was proven before.
    for (let time = 0; time < 2; time++) {
      expect(proofs.appOf(leaseId, request, ["other", "shop"])).toBe("shop");
      expect(proofs.appOf(leaseId, request, ["other"])).toBeUndefined();
      expect(proofs.appOf(leaseId, { ...request, requestId: "job.2" }, ["shop"])).toBeUndefined();
      expect(proofs.appOf(leaseId, { ...request, runId: "another run" }, ["shop"])).toBeUndefined();
      expect(proofs.appOf("no lease id", request, ["shop"])).toBeUndefined();
    }
  }
});

test("a lease id that is named again and again costs one digest", async () => {
  const maker = await opened();
  const leaseId = maker.leaseId(request, "shop", ENDS_MS);
  const reader = await opened();
  for (let time = 0; time < 100; time++) {
    expect(maker.appOf(leaseId, request, ["shop"])).toBe("shop");
    expect(reader.appOf(leaseId, request, ["shop"])).toBe("shop");
  }
  expect(counted.digests).toBe(2);
});

test("what is known of lease ids is bounded, and forgetting changes no answer", async () => {
  const proofs = await opened();
  const leaseId = proofs.leaseId(request, "shop", ENDS_MS);
  for (let index = 0; index < 10_000; index++)
    proofs.leaseId({ ...request, requestId: `other.${index}` }, "shop", ENDS_MS);
  const before = counted.digests;
  expect(proofs.appOf(leaseId, request, ["shop"])).toBe("shop");
  // It had been forgotten.
  expect(counted.digests).toBe(before + 1);
});
