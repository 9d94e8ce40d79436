/**
 * `npm run demo`: one order, one gateway, one app that is frozen for four seconds and then killed; and the run that ends as
 * if nothing had happened. Exits with 0 only if everything was as promised.
 */
import { constants } from "node:os";
import { verify } from "./promises.mjs";
import { bold, dim, endMarks, green, print, red, seconds, sign } from "./screen.mjs";
import { story } from "./story.mjs";
import { openWorld } from "./world.mjs";

/** @type {import("./world.mjs").DemoWorld | undefined} */
let world;
let interrupted = false;
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.on(signal, async () => {
    if (interrupted) return;
    interrupted = true;
    endMarks();
    print(`\n  ${signal}: putting everything away ...`);
    await world?.close();
    process.exit(128 + constants.signals[signal]);
  });
}

print();
print(`  ${bold("Holdfast")}  ${dim("durable functions over a connection that busy code cannot drop")}`);
print();
try {
  world = await openWorld();
  const outcome = await story(world);
  const broken = verify(outcome);
  await world.close();
  if (interrupted) await new Promise(() => {});
  print();
  if (broken.length === 0) {
    print(
      `  ${green(sign.ok)} ${bold("Everything as promised.")} ${dim(`${seconds().toFixed(0)} s; nothing is left running.`)}`,
    );
  } else {
    print(`  ${red(sign.bad)} ${bold("Not as promised:")}`);
    for (const reason of broken) print(`    ${reason}`);
    process.exitCode = 1;
  }
  print();
} catch (error) {
  await world?.close();
  if (interrupted) await new Promise(() => {});
  endMarks();
  print();
  print(`  ${red(sign.bad)} ${bold("The demo broke off.")}`);
  print(`    ${String(error instanceof Error ? error.message : error).replaceAll("\n", "\n    ")}`);
  process.exitCode = 1;
}
