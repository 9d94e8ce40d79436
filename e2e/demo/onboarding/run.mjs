/** `npm run demo:graphs`: a gateway in memory, and the story of a workflow that is edited while it runs. */
import { startGateway } from "../../support/gateway.mjs";
import { story } from "./story.mjs";

const asJson = process.argv.includes("--json");
const gateway = await startGateway({ args: ["--store", "memory"] });
try {
  const outcome = await story(gateway.url, (what) => {
    if (!asJson) process.stdout.write(`  ${what}\n`);
  });
  if (asJson) process.stdout.write(`${JSON.stringify(outcome)}\n`);
} finally {
  await gateway.child.stop();
}
