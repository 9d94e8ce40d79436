import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDatabase, startTestPostgres } from "@holdfast/testing";
import { inject } from "vitest";
import { type GatewayApi, gatewayApi, isOver, type RunView } from "../support/api.mjs";
import { Child } from "../support/child.mjs";
import { type RunningGateway, startGateway } from "../support/gateway.mjs";
import { node22 } from "../support/node-versions.mjs";
import { openTap, type Tap } from "../support/tap.mjs";
import { checkInvariants } from "./invariants.ts";
import { JournalReader } from "./journal-reader.ts";

/** How the gateway of a test is started; intervals are durations such as "2s". */
export interface Mode {
  readonly name: string;
  /** False without `plain`: our gateway by its own rules, with apps that agreed on no extensions. */
  readonly extensions: boolean;
  /** On the plain protocol, at a gateway as strict as the reference's. */
  readonly plain?: boolean;
  readonly heartbeat?: string;
  readonly lease?: string;
  /** How long a lost app may take to come back with its work. */
  readonly grace?: string;
  /** How long an app may take to acknowledge a request. */
  readonly ack?: string;
  /** How long a gateway that stops waits for its apps. */
  readonly drain?: string;
  /** Where the gateway sends its spans. */
  readonly otlp?: string;
  /** The app reaches the gateway through a proxy that records every frame. */
  readonly tapped?: boolean;
  /** A Postgres server of its own, which the test may stop and start. */
  readonly ownPostgres?: boolean;
  /** The gateway starts a Postgres itself, as it does for a user who has none. */
  readonly embedded?: boolean;
}

export const modes: readonly Mode[] = [
  { name: "with extensions", extensions: true },
  { name: "plain protocol", extensions: false, plain: true },
];

/** An app under test; see `fixtures/serve-test.mjs` for what can be asked of it. */
export class App extends Child {
  /** Closes its connection and waits until the process has ended by itself. */
  async close(): Promise<void> {
    await this.ask("close");
    const { code } = await this.exited;
    if (code !== 0) throw new Error(`The app ended with code ${code} after close().\n${this.tail()}`);
  }
}

export interface World {
  readonly api: GatewayApi;
  readonly databaseUrl: string;
  /** Only with `embedded`: where the gateway's Postgres keeps its data. */
  readonly dataDir: string;
  readonly journal: JournalReader;
  readonly gateway: Child;
  readonly url: string;
  readonly tap: Tap;
  /** Only with `ownPostgres`: ends the server as a crash would, and starts it again on its port and data. */
  readonly postgres: { kill(): Promise<void>; restart(): Promise<void> };
  readonly startApp: (env?: Readonly<Record<string, string>>) => Promise<App>;
  /** Another app of `fixtures`, with a Node, its flags and variables of choice. */
  readonly startAppOf: (file: string, options?: AppOptions) => Promise<App>;
  readonly startFixture: (file: string, options: AppOptions) => Promise<App>;
  /** With `isolated: false` its connection shares the main thread. */
  readonly startInngestApp: (checkpointing: "on" | "off", options?: InngestOptions) => Promise<App>;
  /** Starts the gateway again, on the same ports and database. */
  readonly restartGateway: () => Promise<void>;
  /** Another gateway on the same database; started before the apps that use it. */
  readonly secondGateway: () => Promise<RunningGateway>;
  /** Sends `test/<name>` and returns the id of the one run it starts. */
  readonly trigger: (name: string, data?: object) => Promise<string>;
  /** Waits until the run has ended. */
  readonly ended: (runId: string) => Promise<RunView>;
  /** Waits until the run's journal has an entry so often. */
  readonly noted: (runId: string, what: string, times?: number) => Promise<void>;
  readonly until: (what: string, holds: () => boolean | Promise<boolean>, limitMs?: number) => Promise<void>;
}

interface InngestOptions {
  readonly isolated?: boolean;
  readonly environment?: string;
}

interface AppOptions {
  readonly node?: string;
  readonly nodeArgs?: readonly string[];
  readonly env?: Record<string, string>;
}

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/**
 * Runs a test in a world of its own: database, gateway, journal, and the apps it starts. Afterwards everything is ended, and
 * the durable state is checked against the invariants: no run was forgotten, every log folds to its head.
 */
export async function inWorld(mode: Mode, body: (world: World) => Promise<void>): Promise<void> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const children: Child[] = [];
  const onCleanUp = (cleanUp: () => Promise<unknown>): void => void cleanUps.unshift(cleanUp);
  try {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-e2e-"));
    onCleanUp(() => rm(folder, { recursive: true, force: true }));
    const server = mode.ownPostgres ? await startTestPostgres({ own: true, durable: true }) : undefined;
    if (server !== undefined) onCleanUp(() => server.stop());
    const database = mode.embedded ? undefined : await createDatabase(server?.url ?? inject("postgresUrl"));
    if (server === undefined && database !== undefined) onCleanUp(() => database.drop());
    const world = await build(mode, folder, database?.url, children, onCleanUp);
    await body(Object.assign(world, { postgres: server ?? noPostgres }));
    if (database !== undefined) await checkInvariants(database.url);
  } catch (error) {
    const tails = children.map((child) => `--- ${child.name}\n${child.tail(60)}`).join("\n");
    console.log(`${mode.name} failed. What its processes printed last:\n${tails}`);
    throw error;
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

const noPostgres: World["postgres"] = {
  kill: () => Promise.reject(new Error("This world has no Postgres of its own; ask for one with `ownPostgres`.")),
  restart: () => noPostgres.kill(),
};

async function build(
  mode: Mode,
  folder: string,
  databaseUrl: string | undefined,
  children: Child[],
  onCleanUp: (cleanUp: () => Promise<unknown>) => void,
) {
  const journal = new JournalReader(folder);
  const dataDir = join(folder, "data");
  let running: RunningGateway = await launch();
  // Registered before the apps', so it comes after them: a gateway that stops waits for its apps to go elsewhere.
  onCleanUp(() => running.child.stop());
  const { port, connectPort, url } = running;
  const api = gatewayApi(url);
  const tap = mode.tapped ? await openTap(url) : undefined;
  if (tap !== undefined) onCleanUp(() => tap.stop());

  async function launch(ports: { port?: number; connectPort?: number } = {}): Promise<RunningGateway> {
    const { extensions, plain = false, heartbeat = "1s", lease = "8s", grace, ack, drain, otlp } = mode;
    const args = grace === undefined ? [] : ["--reconnect-grace", grace];
    if (otlp !== undefined) args.push("--otlp-endpoint", otlp);
    if (ack !== undefined) args.push("--request-ack", ack);
    if (drain !== undefined) args.push("--drain", drain);
    const store = databaseUrl === undefined ? { dataDir } : { databaseUrl };
    const started = await startGateway({
      ...store,
      extensions,
      plain,
      heartbeat,
      lease,
      retryBase: "200ms",
      args,
      ...ports,
    });
    children.push(started.child);
    return started;
  }

  async function startFixture(file: string, options: AppOptions): Promise<App> {
    const app = new App(fixture(file), {
      name: file,
      ...options,
      env: { HOLDFAST_TEST_JOURNAL: journal.path, ...options.env },
    });
    children.push(app);
    onCleanUp(() => app.kill());
    await app.message((message) => message.ready === true, 100_000);
    return app;
  }

  async function until(what: string, holds: () => boolean | Promise<boolean>, limitMs = 100_000): Promise<void> {
    const end = Date.now() + limitMs;
    while (!(await holds())) {
      if (Date.now() > end) throw new Error(`Timed out after ${limitMs} ms waiting for ${what}.`);
      await sleep(25);
    }
  }

  return {
    api,
    url,
    get databaseUrl() {
      if (databaseUrl === undefined) throw new Error("The database of this world is the gateway's own.");
      return databaseUrl;
    },
    dataDir,
    journal,
    get tap() {
      if (tap === undefined) throw new Error("This world has no proxy; ask for one with `tapped`.");
      return tap;
    },
    until,
    get gateway() {
      return running.child;
    },
    startApp: (env = {}) => startFixture("app.mjs", { env: { HOLDFAST_DEV: tap?.url ?? url, ...env } }),
    startAppOf: (file: string, options: AppOptions = {}) =>
      startFixture(file, { ...options, env: { HOLDFAST_DEV: tap?.url ?? url, ...options.env } }),
    startFixture,
    startInngestApp: async (checkpointing: "on" | "off", { isolated = true, environment }: InngestOptions = {}) =>
      startFixture("inngest-app.mjs", {
        node: await node22(),
        env: {
          INNGEST_DEV: `http://localhost:${port}`,
          TEST_CHECKPOINTING: checkpointing,
          INNGEST_CONNECT_ISOLATE_EXECUTION: String(isolated),
          ...(environment === undefined ? {} : { INNGEST_ENV: environment }),
        },
      }),
    restartGateway: async () => {
      running = await launch({ port, connectPort });
    },
    secondGateway: async () => {
      const second = await launch();
      onCleanUp(() => second.child.stop());
      return second;
    },
    trigger: async (name: string, data: object = {}) => {
      const [eventId = ""] = await api.send({ name: `test/${name}`, data });
      const [run, ...more] = await api.runsOf(eventId);
      if (run === undefined || more.length > 0)
        throw new Error(`test/${name} started ${more.length + 1} runs, not one.`);
      return run.id;
    },
    ended: async (runId: string) => {
      let run = await api.run(runId);
      await until(`run ${runId} to end; it is ${run.status}`, async () => {
        run = await api.run(runId);
        return isOver(run);
      });
      return run;
    },
    noted: (runId: string, what: string, times = 1) =>
      until(
        `"${what}" ${times} times in the journal of ${runId}, which has ${JSON.stringify(journal.counts(runId))}`,
        () => journal.has(runId, what, times),
      ),
  };
}
