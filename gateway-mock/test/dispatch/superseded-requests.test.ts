import { describe, expect, it } from "vitest";
import type { ConnectedWorker } from "../../src/dispatch/workers/connected-worker.ts";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { SupersededRequests } from "../../src/dispatch/workers/superseded-requests.ts";
import type { Workers } from "../../src/dispatch/workers/workers.ts";

function bench(extensions: readonly string[] = ["cancel"]) {
  const cancelled: string[] = [];
  const send = (frame: { readonly kind: string; readonly requestId?: string }): void => {
    if (frame.kind === "GATEWAY_CANCEL") cancelled.push(frame.requestId ?? "");
  };
  const worker = { id: "worker", session: { extensions: new Set(extensions), send } } as unknown as ConnectedWorker;
  let connected = true;
  const workers = { get: () => (connected ? worker : undefined) } as unknown as Workers;
  const leave = (): void => {
    connected = false;
  };
  return { former: new SupersededRequests(workers), worker, cancelled, leave };
}

describe("Superseded requests", () => {
  it("workers with an older dispatch are told once to stop when the job is dispatched again", () => {
    const { former, worker, cancelled } = bench();
    former.add({ requestId: "job.3", worker });
    former.supersede({ jobId: "other", epoch: 9 }, undefined);
    former.supersede({ jobId: "job", epoch: 4 }, undefined);
    former.supersede({ jobId: "job", epoch: 5 }, undefined);
    expect(cancelled).toEqual(["job.3"]);
  });

  it("workers with the same or a newer dispatch are not told to stop", () => {
    const { former, worker, cancelled } = bench();
    former.add({ requestId: "job.3", worker });
    former.supersede({ jobId: "job", epoch: 2 }, undefined);
    former.supersede({ jobId: "job", epoch: 3 }, undefined);
    expect(cancelled).toEqual([]);
    former.supersede({ jobId: "job", epoch: 4 }, undefined);
    expect(cancelled).toEqual(["job.3"]);
  });

  it("workers that are gone, or do not know GATEWAY_CANCEL, are not told to stop", () => {
    const gone = bench();
    gone.former.add({ requestId: "job.1", worker: gone.worker });
    gone.leave();
    gone.former.supersede({ jobId: "job", epoch: 2 }, { requestId: "job.1", worker: gone.worker } as Dispatch);
    const plain = bench([]);
    plain.former.add({ requestId: "job.1", worker: plain.worker });
    plain.former.supersede({ jobId: "job", epoch: 2 }, undefined);
    expect([...gone.cancelled, ...plain.cancelled]).toEqual([]);
  });

  it("tracked requests are forgotten, oldest first, beyond the limit", () => {
    const { former, worker, cancelled } = bench();
    for (let count = 0; count <= 10_000; count += 1) former.add({ requestId: `job${count}.1`, worker });
    former.supersede({ jobId: "job0", epoch: 2 }, undefined);
    former.supersede({ jobId: "job1", epoch: 2 }, undefined);
    expect(cancelled).toEqual(["job1.1"]);
  });
});
