import { waitFor } from "@holdfast/testing";
import { expect } from "vitest";
import type { Gateway } from "../../src/server.ts";
import type { RunDetailView } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

/** One environment at one gateway, with its worker. Whatever it sends says where it is from. */
export class EnvironmentClient {
  readonly gateway: Gateway;
  /** Undefined: none is named. */
  readonly environment: string | undefined;
  readonly worker: RawWorker;

  constructor(gateway: Gateway, environment: string | undefined, worker: RawWorker) {
    this.gateway = gateway;
    this.environment = environment;
    this.worker = worker;
  }

  get from(): string {
    return this.environment ?? "default";
  }

  async call(path: string, init: RequestInit = {}): Promise<{ status: number; body: never }> {
    const headers = {
      ...init.headers,
      ...(this.environment === undefined ? {} : { "x-inngest-env": this.environment }),
    };
    const response = await fetch(new URL(path, this.gateway.url), { ...init, headers });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as never };
  }

  /** The event's id. */
  async send(
    name: string,
    more: { data?: object; id?: string } = {},
    headers: Record<string, string> = {},
  ): Promise<string> {
    const { data, ...rest } = more;
    const body = JSON.stringify({ name, data: { from: this.from, ...data }, ...rest });
    const sent = (await this.call("/e/test", { method: "POST", body, headers })) as { body: { ids: string[] } };
    expect(sent.body.ids, JSON.stringify(sent)).toHaveLength(1);
    return sent.body.ids[0] as string;
  }

  async signal(name: string): Promise<number> {
    const body = JSON.stringify({ signal: name, data: { from: this.from } });
    return (await this.call("/v1/signals", { method: "POST", body })).status;
  }

  async runIds(): Promise<string[]> {
    const { body } = (await this.call("/v1/runs?limit=1000")) as { body: { runs: { id: string }[] } };
    return body.runs.map(({ id }) => id).sort();
  }

  async run(runId: string): Promise<RunDetailView> {
    return (await this.call(`/v1/runs/${runId}?log=1`)).body;
  }

  ended(runId: string): Promise<RunDetailView> {
    return waitFor(
      async () => {
        const run = await this.run(runId);
        return run.endedMs == null ? undefined : run;
      },
      { what: `run ${runId} of ${this.from} to end`, context: async () => JSON.stringify(await this.run(runId)) },
    );
  }

  /** All runs that it has, once there are so many and all are over. */
  async all(count: number): Promise<RunDetailView[]> {
    const ids = await waitFor(
      async () => {
        const found = await this.runIds();
        return found.length >= count ? found : undefined;
      },
      { what: `${count} runs of ${this.from}`, context: async () => `it has ${await this.runIds()}` },
    );
    expect(ids).toHaveLength(count);
    return Promise.all(ids.map((id) => this.ended(id)));
  }

  waits(runId: string, name: string): Promise<RunDetailView> {
    return waitFor(
      async () => {
        const run = await this.run(runId);
        return run.waits.some((wait) => wait.name === name) ? run : undefined;
      },
      { what: `run ${runId} of ${this.from} to wait for ${name}` },
    );
  }

  /** Its worker ends every run with where the run's events are from. */
  answers(): void {
    this.worker.answer((_, payload) => {
      const events = payload.events as { data: { from?: string } }[];
      return { status: "DONE", value: events.map(({ data }) => data.from ?? null) };
    });
  }

  /** The one request that its worker is sent next; it is of its own environment. */
  async request(): ReturnType<RawWorker["request"]> {
    const taken = await this.worker.request();
    expect((await this.run(taken.request.runId)).endedMs).toBeNull();
    return taken;
  }
}
