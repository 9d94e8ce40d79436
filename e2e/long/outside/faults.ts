import { setTimeout as sleep } from "node:timers/promises";
import type { Member } from "../cluster.ts";
import type { Field, Worker } from "./field.ts";

/** What is done to a field, until it is as it was before. */
export interface Fault {
  readonly name: string;
  act(field: Field): Promise<unknown>;
}

const BLOCK_MS = 40_000;

const member = (field: Field): Member => field.pick(field.cluster.members);

const appKill: Fault = {
  name: "kill -9 app",
  act: async (field) => {
    const victim = field.pick(field.workers);
    await victim.app.kill();
    await sleep(field.between(200, 2_000));
    await victim.replace();
  },
};

const gatewayKill: Fault = {
  name: "kill -9 gateway",
  act: async (field) => {
    const victim = member(field);
    await victim.kill();
    await sleep(field.between(200, 2_000));
    await victim.start();
  },
};

const postgresKill: Fault = {
  name: "kill -9 postmaster",
  act: async ({ cluster }) => {
    await cluster.server?.kill();
    await cluster.server?.restart();
  },
};

const backendKill: Fault = {
  name: "kill -9 backend",
  act: async ({ cluster }) => {
    const [row] = await cluster.sql`SELECT pid FROM pg_stat_activity
      WHERE application_name LIKE 'holdfast-gateway%' ORDER BY state = 'idle', random() LIMIT 1`.catch(() => []);
    if (row !== undefined) process.kill(row.pid, "SIGKILL");
    // The server ends all the others as well, and recovers.
    await sleep(2_000);
  },
};

const thread = (how: "exit" | "throw" | "reject" | "oom" | "hang"): Fault => ({
  name: `thread ${how}`,
  act: async (field) => {
    const victim = field.pick(field.workers);
    await victim.app.ask("killThread", { how });
    await sleep(how === "hang" ? 9_000 : 500);
    await victim.connected();
  },
});

const stop = (whom: string, pids: (field: Field) => number[] | Promise<number[]>): Fault => ({
  name: `SIGSTOP ${whom}`,
  act: async (field) => field.standStill(await pids(field)),
});

const net = (name: string, act: (field: Field) => unknown): Fault => ({
  name: `tcp ${name}`,
  act: async (field) => {
    await act(field);
    await sleep(3_000);
  },
});

const stopped: readonly Fault[] = [
  stop("app", (field) => [field.pick(field.workers).pid]),
  stop("both workers of an app", ({ workers }) => workers.slice(0, 2).map(({ pid }) => pid)),
  stop("gateway", (field) => [member(field).child.pid ?? 0]),
  stop("postgres", (field) => field.postgresPids()),
];
const threads = (["exit", "throw", "reject", "oom", "hang"] as const).map(thread);
const network: readonly Fault[] = [
  net("half", ({ network: one }) => one.lose(["up", "down"])),
  net("blackhole up", ({ network: one }) => one.lose(["up"])),
  net("blackhole down", ({ network: one }) => one.lose(["down"])),
  net("slow", async ({ network: one }) => {
    one.slow(700);
    await sleep(5_000);
    one.slow(0);
  }),
  net("refuse", async ({ network: one }) => {
    one.refuse(true);
    one.cut();
    await sleep(3_000);
    one.refuse(false);
  }),
  net("cut", ({ network: one }) => one.cut()),
];

const block = (name: string, whom: (field: Field) => readonly Worker[]): Fault => ({
  name: `block main ${BLOCK_MS / 1_000} s, ${name}`,
  act: async (field) => {
    const asked = { ms: BLOCK_MS, limitMs: 2 * BLOCK_MS };
    await Promise.all(whom(field).map(({ app }) => app.ask("block", asked)));
  },
});

export const SCENARIOS: Readonly<Record<string, readonly Fault[]>> = {
  appkill: [appKill],
  gwkill: [gatewayKill],
  pgkill: [postgresKill, backendKill],
  thread: threads,
  stopcont: stopped,
  net: network,
  block: [
    block("a worker of each app", ({ workers }) => workers.filter((_, index) => index % 2 === 0)),
    block("all", ({ workers }) => workers),
  ],
  all: [appKill, gatewayKill, postgresKill, backendKill, ...threads, ...stopped, ...network],
};
