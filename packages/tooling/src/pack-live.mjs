/** The programs that the pack check runs on installed packages: a gateway, and an app in every form apps come in. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const app = `import { Holdfast } from "holdfast";
import { connect } from "holdfast/connect";

async function main() {
  const app = new Holdfast({ id: "packed-" + process.pid });
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const greet = app.createFunction(
    { id: "greet", triggers: { event: "packed/greet." + process.pid } },
    async ({ step }) => {
      const one = await step.run("one", () => 1);
      finish(await step.run("two", () => one + 1));
    },
  );
  const connection = await connect({ apps: [{ client: app, functions: [greet] }] });
  await app.send({ name: "packed/greet." + process.pid, data: {} });
  const sum = await finished;
  await connection.close();
  if (sum !== 2) throw new Error("The steps gave " + sum);
  console.log("It works.");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
`;

/** Starts a gateway on a throwaway database, runs every app named on the command line against it, and says how each went. */
const driver = `import { spawn } from "node:child_process";
import { startGateway } from "@holdfast/gateway";

const gateway = await startGateway({ port: 0, connectPort: 0, keepData: false });
const results = {};
// Each is loaded when it is first asked for, and might not have been packed.
for (const path of ["/metrics", "/v1/openapi.json", "/v1/runs"]) {
  const answer = await fetch(gateway.url + path);
  results[path] = answer.status === 200 ? "" : await answer.text();
}
for (const file of process.argv.slice(2)) {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, HOLDFAST_DEV: gateway.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (output += text));
  const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [code, signal] = await new Promise((resolve) => child.on("close", (...args) => resolve(args)));
  clearTimeout(limit);
  results[file] = code === 0 && output.includes("It works.") ? "" : output + "\\n(ended with " + (code ?? signal) + ")";
}
await gateway.close();
console.log("RESULTS " + JSON.stringify(results));
`;

/**
 * Writes the programs into a project that has the packages installed.
 * @param {string} folder
 */
export function writeLivePrograms(folder) {
  writeFileSync(join(folder, "app.mjs"), app);
  writeFileSync(join(folder, "drive.mjs"), driver);
}

/**
 * What the driver said, one problem per app or route; empty for what worked.
 * @param {string} output
 * @returns {Record<string, string> | undefined}
 */
export function liveResults(output) {
  const line = /^RESULTS (.*)$/m.exec(output)?.[1];
  return line === undefined ? undefined : JSON.parse(line);
}
