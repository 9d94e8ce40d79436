import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Child } from "../support/child.mjs";
import { startOtlpReceiver } from "../support/otlp-receiver.mjs";
import { inWorld } from "./world.ts";

/** The guide's files are run as they stand there, and its picture of the trace is what a collector receives. */

const page = new URL("../../docs/tracing.md", import.meta.url);

/** The files of the guide: code that begins with a comment that names one. */
const filesOf = (text: string): [name: string, code: string][] =>
  [...text.matchAll(/```js\n\/\/ (\S+)\n([^`]+)```/g)].map(([, name = "", code = ""]) => [name, code]);

/** The names in the picture, each below its parent. */
function pictureOf(text: string): string[] {
  const picture = /```text\n(checkout[^`]+)```/.exec(text)?.[1] ?? "";
  return picture
    .trimEnd()
    .split("\n")
    .map((line) => `${line.search(/[a-z]/) / 3} ${line.replace(/^[^a-z]+/, "").split(/ {2,}/)[0]}`);
}

test("the guide's app makes the trace that the guide shows", async () => {
  const text = await readFile(page, "utf8");
  const receiver = await startOtlpReceiver();
  const folder = await mkdtemp(join(fileURLToPath(new URL("../", import.meta.url)), ".tracing-"));
  try {
    await inWorld({ name: "guide", extensions: true, otlp: receiver.url }, async (world) => {
      for (const [name, code] of filesOf(text)) await writeFile(join(folder, name), code);
      const app = new Child(join(folder, "app.mjs"), {
        name: "The guide's app",
        nodeArgs: ["--import", join(folder, "tracing.mjs")],
        env: { HOLDFAST_DEV: world.url, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      });
      expect(await app.exited, app.tail()).toMatchObject({ code: 0 });
      const { spans } = receiver;
      const shown = pictureOf(text);
      expect(shown).toHaveLength(8);
      await world.until("all spans of the picture", () => spans.length >= shown.length);
      const below = (parent: string, level: number): string[] =>
        spans
          .filter(({ parentSpanId }) => parentSpanId === parent)
          .flatMap(({ name, spanId }) => [`${level} ${name}`, ...below(spanId, level + 1)]);
      expect(below("", 0).sort()).toEqual(shown.sort());
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
    await receiver.stop();
  }
});
