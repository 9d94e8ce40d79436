/**
 * Sets the workspace up and runs one of its programs: `node run.mjs path/of/program.mjs [arguments]`. The program's exit
 * code is ours; a signal ends the program and everything it started.
 */
import { existsSync } from "node:fs";
import { endWithChildren, run } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { fail, inRoot, root } from "./workspace.mjs";

endWithChildren();
const [program = "", ...args] = process.argv.slice(2);
try {
  await setup();
  if (!existsSync(inRoot(program))) throw new Error(`There is no ${program} in this checkout.`);
  process.exitCode = (await run(process.execPath, [inRoot(program), ...args], { cwd: root })).code;
} catch (error) {
  fail(error);
}
