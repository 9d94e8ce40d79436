/** Imports a large file: it is cut into parts, and threads of a pool parse them side by side. */
import { eventType, Holdfast, staticSchema } from "holdfast";
import { cutIntoParts, importPart } from "./parts.ts";

const app = new Holdfast({ id: "imports" });
const uploaded = eventType("files/uploaded", { schema: staticSchema<{ path: string; into: string }>() });

export const importFile = app.createFunction(
  { id: "import-file", triggers: uploaded, singleton: { mode: "skip", key: "event.data.path" } },
  async ({ event, step }) => {
    const { path, into } = event.data;
    const parts = await step.run("cut into parts", () => cutIntoParts(path, { count: 8 }));
    const imported = await Promise.all(
      parts.map((part, index) => step.run(`import part ${index}`, importPart, path, part, `${into}/${index}.json`)),
    );
    return { rows: sum(imported.map(({ rows }) => rows)), cents: sum(imported.map(({ cents }) => cents)) };
  },
);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

await app.connect({ functions: [importFile], isolation: { threads: 2 } });
