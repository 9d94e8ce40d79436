import { expect, test } from "vitest";
import { inWorld, type World } from "./world.ts";

const extended = { name: "with extensions", extensions: true };
const start = ({ startAppOf }: World, functions: string) =>
  startAppOf("builds-app.mjs", { env: { TEST_FUNCTIONS: functions } });

test("a build of before that is started again is the one whose functions are triggered, and so is the next one", async () => {
  await inWorld(extended, async (world) => {
    const { trigger, ended, api } = world;
    const starts = async (name: string): Promise<boolean> => {
      const [eventId = ""] = await api.send({ name: `test/${name}`, data: {} });
      return (await api.runsOf(eventId)).length > 0;
    };
    await (await start(world, "one")).close();
    const second = await start(world, "one,two");
    expect(await ended(await trigger("two"))).toMatchObject({ output: "by the build of one and two" });
    // Back, while the newer build is still there.
    const first = await start(world, "one");
    expect(await starts("two")).toBe(false);
    await second.close();
    expect(await ended(await trigger("one"))).toMatchObject({ output: "by the build of one" });
    const third = await start(world, "one,two");
    await first.close();
    expect(await ended(await trigger("two"))).toMatchObject({ output: "by the build of one and two" });
    await third.close();
  });
});
