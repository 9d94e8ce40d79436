import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { checkLeaks, leakCheck, startProxy } from "../src/index.ts";

const options = { graceMs: 50 };

test("the leak check finds a server and a socket with their addresses, until they are closed", async () => {
  const check = leakCheck(options);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  expect((await check.leaks()).join("\n")).toMatch(new RegExp(`listening on .*${port}.*127.0.0.1:${port}`, "s"));
  await expect(check.assertNone()).rejects.toMatchObject({ code: "TEST_LEAK" });
  socket.destroy();
  server.close();
  await leakCheckEnds(check);
});

test("the leak check finds a timer, but not a cancelled one", async () => {
  const check = leakCheck(options);
  const timer = setTimeout(() => {}, 100_000);
  expect(await check.leaks()).toEqual(["1 Timeout"]);
  clearTimeout(timer);
  await leakCheckEnds(check);
});

test("the leak check finds a thread", async () => {
  const check = leakCheck(options);
  const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
  await once(worker, "online");
  expect((await check.leaks()).join("\n")).toContain(`worker thread ${worker.threadId}`);
  await worker.terminate();
  await leakCheckEnds(check);
});

test.runIf(process.platform === "linux")(
  "the leak check finds a child process that does not keep this process alive",
  async () => {
    const check = leakCheck(options);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    child.unref();
    expect((await check.leaks()).join("\n")).toMatch(new RegExp(`child process ${child.pid}: .*setInterval`));
    child.kill("SIGKILL");
    await once(child, "exit");
    await leakCheckEnds(check);
  },
);

test("the leak check finds what this package started, and ignores what existed before", async () => {
  const proxy = await startProxy({ target: { port: 1 } });
  const check = leakCheck(options);
  const other = await startProxy({ target: { port: 1 } });
  const found = (await check.leaks()).join("\n");
  expect(found).toContain(`proxy on port ${other.port}`);
  expect(found).not.toContain(String(proxy.port));
  await Promise.all([proxy.stop(), other.stop()]);
  await leakCheckEnds(check);
});

test("the leak check registers its two hooks", async () => {
  let before: () => void = () => {};
  let after: () => Promise<void> = async () => {};
  const hooks = {
    beforeAll: (hook: () => void) => {
      before = hook;
    },
    afterAll: (hook: () => Promise<void>) => {
      after = hook;
    },
  };
  checkLeaks(hooks, options);
  before();
  const timer = setInterval(() => {}, 100_000);
  await expect(after()).rejects.toThrow(/Left behind:\n {2}1 Timeout/);
  clearInterval(timer);
  await after();
});

/** What was ended may take a moment. */
const leakCheckEnds = async (check: ReturnType<typeof leakCheck>): Promise<void> => {
  await expect.poll(() => check.leaks(), { timeout: 20_000 }).toEqual([]);
};
