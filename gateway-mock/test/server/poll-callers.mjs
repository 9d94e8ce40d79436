/** A process of callers that wait for runs: `node poll-callers.mjs <url> <count> <run id>...`; prints what they were answered. */
import { Agent, request } from "node:http";

const [url = "", count = "0", ...runIds] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** @param {string} path */
function ask(path) {
  return new Promise((resolve) => {
    const sent = request(new URL(path, url), { agent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => {
        text += piece;
      });
      response.on("end", () => {
        const body = JSON.parse(text);
        resolve(String(body.status));
      });
    });
    sent.on("error", (error) => resolve(error.message));
    sent.end();
  });
}

const answers = [];
for (let n = 0; n < Number(count); n += 1) {
  answers.push(ask(`/v1/runs/${runIds[n % runIds.length]}?wait=60s`));
  // What is on its way takes a place of the gateway's other connections.
  if (n % 200 === 199) await ask("/ready");
}
/** @type {Record<string, number>} */
const counts = {};
for (const status of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
console.log(JSON.stringify(counts));
process.exit(0);
