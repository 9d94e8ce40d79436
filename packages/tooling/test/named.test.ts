import { expect, test } from "vitest";
import { listedTests, lostFiles, missingFrom } from "../src/named.mjs";

const tree = {
  exists: (path: string) => ["packages/a/src/a.ts", "packages/a/src/"].includes(path),
  read: () => "export function sendFrame() {}\nconst MAX_BYTES = 1;",
  sources: () => ["export class Elsewhere {}"],
  scripts: ["gen"],
};
const missing = (text: string): string[] => missingFrom("page.md", text, tree);

test("paths, scripts and identifiers that a page names are looked up", () => {
  expect(
    missing(
      "- `packages/a/src/a.ts`: `sendFrame()`, `MAX_BYTES`; then `npm run gen`\n\n`Elsewhere` in `packages/a/src/`",
    ),
  ).toEqual([]);
  expect(missing("- `packages/a/src/b.ts`: x")).toEqual(["page.md: there is no packages/a/src/b.ts"]);
  expect(missing("- `packages/a/src/a.ts`: `receive`")).toEqual(["page.md: `receive` is not in packages/a/src/a.ts"]);
  expect(missing("- `packages/a/src/a.ts`: x\n- `Elsewhere`")).toEqual([]);
  expect(
    missing("| a | `packages/a/src/a.ts`: `sendFrame` |\n| b | `packages/a/src/a.ts`: `Elsewhere` |"),
  ).toHaveLength(1);
  expect(missing("A paragraph about `Nowhere`.")).toEqual(["page.md: `Nowhere` is not in any source"]);
  expect(missing("- `npm run generate`")).toEqual(["page.md: there is no script generate"]);
});

test("text that names nothing is ignored", () => {
  expect(missing("`--flag`, `POST /v1/runs/:id/pause`, `{ a: 1 }`\n\n```sh\nnpm run nothing `Nowhere`\n```")).toEqual(
    [],
  );
});

test("a Vitest configuration lists files and folders", () => {
  expect(listedTests('real: ["test/{a,b}.test.ts", "test/c/*.test.ts", "test/d.test.ts"]')).toEqual([
    ...["test/a.test.ts", "test/b.test.ts", "test/c", "test/d.test.ts"],
  ]);
  expect(listedTests('"test/{http,ws}/*.test.ts" "test/store/!(plan|gates).test.ts"')).toEqual([
    ...["test/http", "test/ws", "test/store/plan.test.ts", "test/store/gates.test.ts"],
  ]);
});

test("a document that names a file which is gone says so; the end of a path, with or without src, is enough", () => {
  const files = ["packages/sdk/src/connection/thread/outbox.ts", "packages/core/test/semaphore.test.ts"];
  const lost = (text: string): string[] => lostFiles("docs/a.md", text, files);
  expect(
    lost("see `thread/outbox.ts`, `sdk/connection/thread/outbox.ts` and `src/connection/thread/outbox.ts`"),
  ).toEqual([]);
  expect(lost("run `npx vitest run test/semaphore.test.ts`")).toEqual([]);
  expect(lost("see `main/outbox.ts`, `box.ts` and `a/box.ts`")).toEqual([
    "docs/a.md: there is no main/outbox.ts",
    "docs/a.md: there is no a/box.ts",
  ]);
});
