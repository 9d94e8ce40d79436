import { describe, expect, expectTypeOf, test } from "vitest";
import { staticSchema } from "../../src/events/event-types.ts";
import { FunctionTest } from "../../src/function-test/function-test.ts";
import { client, engineFor } from "./support.ts";

const asked = { event: "app/go", schema: staticSchema<{ page: number }>() } as const;
const pager = client.createFunction({ id: "pager", triggers: asked }, async ({ event, step, continueAs }) => {
  const { page } = event.data;
  await step.run("page", () => page);
  if (page < 2) return continueAs({ page: page + 1 });
  return { pages: page };
});

describe("continueAs", () => {
  test("a test sees that the run would go on, and with what; the types are those of the function's events", async () => {
    const run = await new FunctionTest(pager, { event: { name: "app/go", data: { page: 1 } } }).run();
    expect(run).toMatchObject({ status: "continued", continuedAs: { page: 2 }, output: undefined, state: { page: 1 } });
    expectTypeOf(run.output).toEqualTypeOf<{ pages: number } | undefined>();
    client.createFunction({ id: "typed", triggers: asked }, async ({ continueAs }) => {
      // @ts-expect-error the data is that of the function's events
      return continueAs({ page: "2" });
    });
  });

  test("a test that invokes such a function gets the result of the last run", async () => {
    const caller = client.createFunction({ id: "caller", triggers: [] }, ({ step }) =>
      step.invoke("all", { function: pager, data: { page: 0 } }),
    );
    const run = await new FunctionTest(caller, { functions: [pager] }).run();
    expect(run).toMatchObject({ status: "completed", output: { pages: 2 } });
  });

  test("on a gateway that has no such thing the handler fails at once, and the error says what to do instead", async () => {
    const engine = engineFor(({ continueAs }) => continueAs({ page: 1 } as never));
    expect(await engine.run()).toMatchObject({
      status: "failed",
      value: {
        code: "GATEWAY_UNSUPPORTED",
        message: expect.stringMatching(/continueAs\(\) is not available.*Send an event/),
      },
    });
    expect(engine.results).toHaveLength(1);
  });

  test.each<[string, unknown, RegExp]>([
    ["a list", [1], /needs an object/],
    ["what JSON cannot carry", { n: 1n }, /needs an object that can be serialised/],
  ])("%s is refused", async (_what, data, message) => {
    const fn = client.createFunction({ id: "bad", triggers: [] }, ({ continueAs }) => continueAs(data as never));
    expect((await new FunctionTest(fn).run()).error).toMatchObject({
      code: "STEP_INVALID",
      message: expect.stringMatching(message),
    });
  });

  test("to call it and return something else is an error, not the silent end of a function that is to go on", async () => {
    const fn = client.createFunction({ id: "forgot", triggers: [] }, ({ continueAs }) => {
      const call: (data: object) => void = continueAs;
      call({});
      return 1;
    });
    expect((await new FunctionTest(fn).run()).error).toMatchObject({
      code: "STEP_INVALID",
      message:
        'Function "app-forgot" called continueAs() but returned something else. Write `return continueAs(data)`.',
    });
  });
});
