/** How to have a first run: what works with the gateway as it is. */
import type { JSX } from "preact";
import { environment, opensSeveral, session } from "../data/api.ts";

const EVENT = '{"name":"demo/hello","data":{}}';

export function FirstSteps(): JSX.Element {
  const { origin } = location;
  if (session.value?.needsKey !== true) {
    return (
      <pre>
        HOLDFAST_DEV={origin} node app.js{"\n"}curl {origin}/e/dev -d '{EVENT}'
      </pre>
    );
  }
  const named = opensSeveral() ? environment.value : (session.value.session?.environment ?? "");
  const isNamed = named !== "" && named !== "default";
  return (
    <pre>
      {[
        `export HOLDFAST_BASE_URL=${origin}`,
        "export HOLDFAST_SIGNING_KEY=…   # a signing key of this gateway",
        "export HOLDFAST_EVENT_KEY=…     # an event key of this gateway",
        ...(isNamed ? [`export HOLDFAST_ENV=${named}`] : []),
        "node app.js",
        `curl "$HOLDFAST_BASE_URL/e/$HOLDFAST_EVENT_KEY" ${isNamed ? `-H "x-inngest-env: ${named}" ` : ""}-d '${EVENT}'`,
      ].join("\n")}
    </pre>
  );
}
