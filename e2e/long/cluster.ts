import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDatabase, startTestPostgres, type TestPostgres, waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { inject } from "vitest";
import { type GatewayApi, gatewayApi } from "../support/api.mjs";
import { startBalancer } from "../support/balancer.mjs";
import type { Child } from "../support/child.mjs";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";
import { type PortProxy, startPortProxy } from "../support/port-proxy.mjs";
import { checkInvariants } from "../test/invariants.ts";
import { JournalReader } from "../test/journal-reader.ts";
import { App } from "../test/world.ts";

export interface ClusterOptions {
  /** How many gateways. */
  readonly gateways: number;
  /** On the plain protocol, at gateways as strict as the reference's. Default: ours, with its extensions. */
  readonly plain?: boolean;
  /** Default "1s". */
  readonly heartbeat?: string;
  /** Default "20s", which no busy machine outlasts. */
  readonly lease?: string;
  /** Further flags of every gateway. */
  readonly args?: readonly string[];
  /** A Postgres server of its own, with these settings. Default: a database on the suite's server. */
  readonly ownPostgres?: Readonly<Record<string, string>>;
  /** The address of a server that the test has started. */
  readonly serverUrl?: string;
  /** The address that gateways are given for the database, such as a proxy's. */
  readonly through?: (databaseUrl: string) => Promise<{ url: string; stop(): Promise<unknown> }>;
  /** False: runs may be left unfinished. Default true. */
  readonly allEnd?: boolean;
}

/** One gateway process, which can be killed and started again on its ports. */
export interface Member {
  readonly index: number;
  readonly url: string;
  readonly port: number;
  readonly api: GatewayApi;
  readonly child: Child;
  /** kill -9. */
  kill(): Promise<void>;
  /** SIGTERM, and waits for its end. */
  stop(limitMs?: number): Promise<void>;
  start(): Promise<void>;
}

export interface AppOptions {
  /** Set of functions, see `fixtures/long-app.mjs`. */
  readonly functions?: string;
  /** Another fixture than `long-app.mjs`. */
  readonly file?: string;
  /** Base URL. Default: the balancer in front of all gateways. */
  readonly url?: string;
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Cluster {
  readonly members: readonly Member[];
  /** In front of all gateways. */
  readonly url: string;
  readonly api: GatewayApi;
  readonly databaseUrl: string;
  readonly sql: postgres.Sql;
  /** Only with `ownPostgres`. */
  readonly server: TestPostgres | undefined;
  readonly journal: JournalReader;
  member(index: number): Member;
  startApp(options: AppOptions): Promise<App>;
  /** Sends events in pieces, to the gateways in turn, and returns how many. */
  send(events: readonly object[]): Promise<number>;
  /** How many runs there are in each status. */
  statuses(): Promise<Record<string, number>>;
  /** Waits until so many runs have ended, however. */
  ended(count: number, limitMs?: number): Promise<void>;
  /** Rows of the log of one kind. */
  logged(kind: string): Promise<number>;
}

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const SEND_AT_ONCE = 250;

/**
 * Runs a test on several gateway processes over one database, with a balancer in front of them. Afterwards everything is
 * ended and the durable state is checked.
 */
export async function inCluster(options: ClusterOptions, body: (cluster: Cluster) => Promise<void>): Promise<void> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const children: Child[] = [];
  const later = (cleanUp: () => Promise<unknown>): void => void cleanUps.unshift(cleanUp);
  try {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-e2e-"));
    later(() => rm(folder, { recursive: true, force: true }));
    const server = options.ownPostgres
      ? await startTestPostgres({ own: true, durable: true, settings: options.ownPostgres })
      : undefined;
    if (server !== undefined) later(() => server.stop());
    const database = await createDatabase(server?.url ?? options.serverUrl ?? inject("postgresUrl"));
    if (server === undefined) later(() => database.drop());
    const way = await options.through?.(database.url);
    if (way !== undefined) later(() => way.stop());
    // The driver asks for types on a connection of its own, and nothing catches that when the server is away.
    const sql = postgres(database.url, { max: 2, fetch_types: false, onnotice: () => {} });
    later(() => sql.end({ timeout: 1 }));
    const members = await startMembers(options, way?.url ?? database.url, children);
    later(() => Promise.all(members.map((member) => member.child.stop())));
    const balancer = await startBalancer(members.map(({ port }) => port));
    later(() => balancer.stop());
    const journal = new JournalReader(folder);
    const startApp = async (app: AppOptions): Promise<App> => {
      const started = await launchApp({ url: balancer.url, ...app }, journal);
      children.push(started);
      later(() => started.kill());
      await started.message((message) => message.ready === true);
      return started;
    };
    const parts = { members, url: balancer.url, databaseUrl: database.url, sql, server, journal, startApp };
    await body({ ...parts, ...questions(parts) });
    if (options.allEnd !== false) await checkInvariants(database.url);
  } catch (error) {
    const tails = children.map((child) => `--- ${child.name}\n${child.tail(40)}`).join("\n");
    console.log(`It failed. What the processes printed last:\n${tails}`);
    throw error;
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

async function startMembers(options: ClusterOptions, databaseUrl: string, children: Child[]): Promise<Member[]> {
  const { plain = false, heartbeat = "1s", lease = "20s", args = [] } = options;
  const launch = async (ports: { port?: number; connectPort?: number }): Promise<RunningGateway> => {
    const settings = { databaseUrl, plain, heartbeat, lease, retryBase: "200ms", args };
    const started = await startGateway({ ...settings, ...ports });
    children.push(started.child);
    return started;
  };
  const members: Member[] = [];
  for (let index = 0; index < options.gateways; index++) {
    let running = await launch({});
    const { port, connectPort, url } = running;
    members.push({
      index,
      url,
      port,
      api: gatewayApi(url),
      get child() {
        return running.child;
      },
      kill: async () => void (await running.child.kill()),
      stop: (limitMs = 40_000) => running.child.stop(limitMs),
      start: async () => {
        running = await launch({ port, connectPort });
      },
    });
  }
  return members;
}

async function launchApp(options: AppOptions & { url: string }, journal: JournalReader): Promise<App> {
  const { file = "long-app.mjs", functions = "" } = options;
  return new App(fixture(file), {
    name: `app (${functions || file})`,
    env: {
      HOLDFAST_TEST_JOURNAL: journal.path,
      HOLDFAST_TEST_FUNCTIONS: functions,
      HOLDFAST_TEST_CONCURRENCY: String(options.concurrency ?? 1000),
      HOLDFAST_DEV: options.url,
      ...options.env,
    },
  });
}

type Through = NonNullable<ClusterOptions["through"]>;

/** The gateways reach the database through a proxy, which the test may slow down or stop. */
export function proxied(options: { notifications?: boolean } = {}): { through: Through; proxy(): PortProxy } {
  let proxy: PortProxy | undefined;
  return {
    through: async (databaseUrl) => {
      const url = new URL(databaseUrl);
      const started = await startPortProxy(Number(url.port), options);
      proxy = started;
      url.port = String(started.port);
      return { url: url.href, stop: () => started.stop() };
    },
    proxy: () => {
      if (proxy === undefined) throw new Error("The cluster has not started yet.");
      return proxy;
    },
  };
}

/** For `through`: no one hears a NOTIFY. */
export const withoutNotifications: Through = (databaseUrl) => proxied({ notifications: false }).through(databaseUrl);

/** Waits until a gateway knows so many functions, its own apps' and those that others stored. */
export async function functionsKnown({ url }: Member, count: number): Promise<void> {
  await waitFor(
    async () => {
      const response = await fetch(new URL("/dev", url));
      return ((await response.json()) as { functions: unknown[] }).functions.length >= count;
    },
    { what: `${url} to know ${count} functions`, timeoutMs: 100_000 },
  );
}

type Parts = Pick<Cluster, "members" | "url" | "sql">;

function questions({
  members,
  url,
  sql,
}: Parts): Omit<Cluster, keyof Parts | "databaseUrl" | "server" | "journal" | "startApp"> {
  const statuses = async (): Promise<Record<string, number>> => {
    const rows = await sql`SELECT status, count(*)::int AS count FROM holdfast.runs GROUP BY status`;
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };
  return {
    api: gatewayApi(url),
    member: (index) => {
      const member = members[index];
      if (member === undefined) throw new Error(`There are ${members.length} gateways; ${index} is none of them.`);
      return member;
    },
    send: async (events) => {
      let turn = 0;
      for (let start = 0; start < events.length; start += SEND_AT_ONCE) {
        const member = members[turn++ % members.length];
        await member?.api.send(events.slice(start, start + SEND_AT_ONCE));
      }
      return events.length;
    },
    statuses,
    ended: async (count, limitMs = 120_000) => {
      await waitFor(
        async () => {
          const [row] = await sql`SELECT count(*)::int AS count FROM holdfast.runs WHERE ended_at IS NOT NULL`;
          return row?.count >= count;
        },
        {
          what: `${count} runs to end`,
          timeoutMs: limitMs,
          intervalMs: 100,
          context: async () => JSON.stringify(await statuses()),
        },
      );
    },
    logged: async (kind) => {
      const [row] = await sql`SELECT count(*)::int AS count FROM holdfast.run_facts WHERE kind = ${kind}`;
      return row?.count ?? 0;
    },
  };
}
