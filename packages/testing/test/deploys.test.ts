import { startTestGateway, type TestGateway } from "@holdfast/testing";
import { type Connection, Holdfast, type HoldfastFunction, type LoggerLike } from "holdfast";
import { describe, expect, test } from "vitest";

const silent: LoggerLike = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Steps = Parameters<Parameters<Holdfast["createFunction"]>[1]>[0]["step"];
type Handler = (context: { readonly step: Steps; readonly version: string | undefined }) => unknown;

/** A version of the app, connected. */
async function deploy(
  gateway: TestGateway,
  appVersion: string,
  handler: Handler,
): Promise<Connection & { app: Holdfast }> {
  const app = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: silent, appVersion });
  const fn: HoldfastFunction = app.createFunction({ id: "f", triggers: { event: "app/go" } }, handler as never);
  const connection = await app.connect({ functions: [fn] });
  return Object.assign(connection, { app });
}

/** A run of `before` that sleeps for an hour goes on as `after`. */
async function deployWhileAsleep(before: Handler, after: Handler) {
  await using gateway = await startTestGateway();
  const old = await deploy(gateway, "1", before);
  const { ids } = await old.app.send({ name: "app/go", data: {} });
  const eventId = ids[0] ?? "";
  await gateway.waitForRun(eventId, ({ status }) => status === "WAITING");
  await old.close();
  await using _now = await deploy(gateway, "2", after);
  await gateway.skipTime("1h");
  return await gateway.waitForRun(eventId);
}

describe("Deploying a new version while a run sleeps", () => {
  const ran: string[] = [];
  const noting = (name: string) => (): number => ran.push(name);
  const before: Handler = async ({ step, version }) => {
    await step.run("a", noting("a"));
    await Promise.all([step.run("b", noting("b")), step.run("c", noting("c"))]);
    await step.sleep("nap", "1h");
    return version;
  };

  test("a renamed step is reported with the recorded and the found steps, and does not run", async () => {
    ran.length = 0;
    const run = await deployWhileAsleep(before, async ({ step }) => {
      await step.run("a renamed", noting("a renamed"));
      await Promise.all([step.run("b", noting("b")), step.run("c", noting("c"))]);
      await step.sleep("nap", "1h");
    });
    expect(run).toMatchObject({
      status: "FAILED",
      error: {
        name: "NonDeterminismError",
        code: "NON_DETERMINISM",
        message: expect.stringMatching(/the 1st step, "a" \(step\.run\).*the 1st step, "a renamed" \(step\.run\)/),
      },
    });
    expect(ran.toSorted()).toEqual(["a", "b", "c"]);
  });

  test("steps may be added at the end, and the version that started the run is known", async () => {
    ran.length = 0;
    const run = await deployWhileAsleep(before, async (context) => {
      const version = await before(context);
      if (version !== "1") return "wrong";
      await context.step.run("d", noting("d"));
      return version;
    });
    expect(run).toMatchObject({ status: "COMPLETED", output: "1" });
    expect(ran.toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  test("a run that the new code does not fit undoes nothing: resumed with code that fits, it goes on", async () => {
    ran.length = 0;
    const booked = (name: string) => (): number => ran.push(name);
    const saga: Handler = async ({ step }) => {
      await step.run("book", booked("book"), { compensate: () => ran.push("book undone") });
      await step.run("pay", booked("pay"), { compensate: () => ran.push("pay undone") });
      await step.sleep("nap", "1h");
      return step.run("ship", booked("ship"));
    };
    const changed: Handler = async ({ step }) => {
      await step.run("book", booked("book"), { compensate: () => ran.push("book undone") });
      await step.run("check", booked("check"));
      await step.run("pay", booked("pay"), { compensate: () => ran.push("pay undone") });
      await step.sleep("nap", "1h");
      return step.run("ship", booked("ship"));
    };
    await using gateway = await startTestGateway();
    const old = await deploy(gateway, "1", saga);
    const { ids } = await old.app.send({ name: "app/go", data: {} });
    const eventId = ids[0] ?? "";
    await gateway.waitForRun(eventId, ({ status }) => status === "WAITING");
    await old.close();
    const wrong = await deploy(gateway, "2", changed);
    await gateway.skipTime("1h");
    const failed = await gateway.waitForRun(eventId);
    expect(failed).toMatchObject({ status: "FAILED", error: { code: "NON_DETERMINISM" } });
    expect(failed.error).not.toHaveProperty("compensation");
    expect(ran).toEqual(["book", "pay"]);
    await wrong.close();
    await using right = await deploy(gateway, "3", saga);
    await right.app.runs.resume(failed.id);
    expect(await gateway.waitForRun(eventId, ({ status }) => status === "COMPLETED")).toMatchObject({ output: 3 });
    expect(ran).toEqual(["book", "pay", "ship"]);
  });
});
