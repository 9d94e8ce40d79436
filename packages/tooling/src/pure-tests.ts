/**
 * Set-up of `pure` tests: a test that opens a socket, starts a process or a thread fails. What it calls throws at once,
 * and since code under test may catch that, the test fails at its end too.
 */
import childProcess, { ChildProcess } from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workerThreads from "node:worker_threads";
import { afterAll, afterEach } from "vitest";

const seen: string[] = [];

function refuse(what: string): never {
  const message = `A pure test ${what}: name its file in \`real\` of the package's vitest.config.ts, or use a test double.`;
  seen.push(message);
  throw new Error(message);
}

net.Socket.prototype.connect = () => refuse("opened a connection");
net.Server.prototype.listen = () => refuse("listened on a port");
dgram.createSocket = () => refuse("opened a datagram socket");
const noProcess = (): never => refuse("started a process");
const starters = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"];
Object.assign(childProcess, Object.fromEntries(starters.map((name) => [name, noProcess])));
Object.assign(ChildProcess.prototype, { spawn: noProcess });
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...args: ConstructorParameters<typeof workerThreads.Worker>) {
    refuse("started a thread");
    super(...args);
  }
};
syncBuiltinESMExports();

const check = (): void => {
  const [first] = seen.splice(0);
  if (first !== undefined) throw new Error(first);
};
afterEach(check);
afterAll(check);
