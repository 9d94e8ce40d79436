import { waitFor } from "@holdfast/testing";
import type { BadNetwork } from "../../support/bad-network.mjs";
import { childrenOf, standStill } from "../../support/stand-still.mjs";
import type { App } from "../../test/world.ts";
import type { Cluster } from "../cluster.ts";

/** Two of each. */
export const APPS = ["one", "two"] as const;
const WORKERS_EACH = 2;

/** What a scenario plays on: gateways over a Postgres of its own, a bad network before them, workers of two apps. */
export class Field {
  readonly cluster: Cluster;
  readonly network: BadNetwork;
  readonly random: () => number;
  readonly workers: Worker[] = [];

  constructor(cluster: Cluster, network: BadNetwork, random: () => number) {
    this.cluster = cluster;
    this.network = network;
    this.random = random;
  }

  async startWorkers(): Promise<void> {
    for (const appId of APPS) {
      for (let count = 0; count < WORKERS_EACH; count++) this.workers.push(await Worker.start(this, appId));
    }
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)] as T;
  }

  between(leastMs: number, mostMs: number): number {
    return Math.round(leastMs + this.random() * (mostMs - leastMs));
  }

  /** Processes of the database server, its main process first. */
  async postgresPids(): Promise<number[]> {
    const main = await waitFor(
      async () => {
        const [row] = await this.cluster.sql`SELECT pg_read_file('postmaster.pid') AS text`.catch(() => []);
        return row && Number(String(row.text).split("\n")[0]);
      },
      { what: "the database to say who it is", timeoutMs: 60_000 },
    );
    return [main, ...(await childrenOf(main))];
  }

  standStill(pids: readonly number[]): Promise<void> {
    return standStill(pids, this.between(7_000, 14_000));
  }
}

/** One of an app's processes, and whoever takes its place. */
export class Worker {
  readonly appId: string;
  readonly #field: Field;
  app: App;

  private constructor(field: Field, appId: string, app: App) {
    this.#field = field;
    this.appId = appId;
    this.app = app;
  }

  static async start(field: Field, appId: string): Promise<Worker> {
    return new Worker(field, appId, await launch(field, appId));
  }

  get pid(): number {
    return this.app.pid ?? 0;
  }

  async replace(): Promise<void> {
    this.app = await launch(this.#field, this.appId);
  }

  /** Waits for its connection, as long as it takes. */
  async connected(): Promise<void> {
    await waitFor(async () => (await this.app.ask("debugState")).state === "ACTIVE", {
      what: `a worker of ${this.appId} to be connected`,
      timeoutMs: 120_000,
      intervalMs: 200,
    });
  }
}

const launch = ({ cluster, network }: Field, appId: string): Promise<App> =>
  cluster.startApp({
    functions: "outside",
    url: network.url,
    concurrency: 100,
    env: { HOLDFAST_TEST_APP_ID: appId },
  });
