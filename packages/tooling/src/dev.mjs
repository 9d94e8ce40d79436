/**
 * `npm run dev`: type-checks and runs the pure tests whenever a file changes, until Ctrl-C. `npm run dev -- session-machine`
 * runs only the files whose names have that word.
 */
import { colours, endWithChildren, run } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { typeCheck } from "./types.mjs";
import { fail, root, tool } from "./workspace.mjs";

endWithChildren();
try {
  await setup({ build: false });
  const options = { cwd: root, env: colours() };
  const vitest = [
    tool("vitest/vitest.mjs"),
    "watch",
    ...process.argv.slice(2),
    "--reporter=dot",
    "--clearScreen=false",
    "--no-isolate",
  ];
  const results = await Promise.all([
    run(process.execPath, [...typeCheck(), "--watch", "--preserveWatchOutput"], options),
    run(process.execPath, vitest, options),
  ]);
  process.exitCode = Math.max(...results.map(({ code }) => code));
} catch (error) {
  fail(error);
}
