import { expect, test } from "vitest";
import { faultsOf } from "../../site/src/built-pages.mjs";
import { llmsText, summary } from "../../site/src/llms-text.mjs";
import { pathOf, readGroups, target } from "../../site/src/pages.mjs";
import { root } from "../src/workspace.mjs";
import { fixture } from "./fixture.ts";

test("every file under docs is a page that the README leads to, each once", () => {
  const pages = readGroups(root).flatMap(({ pages: list }) => list);
  expect(pages.map(({ path }) => path)).toContain("functions");
  expect(pages[0]?.path).toBe("index");
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length);
});

test("a page that the README does not lead to is named", () => {
  const readme = "# A\n\n## Documentation\n\nTo begin:\n\n- [One](docs/one.md): it\n";
  const page = "# Title\n\nText.\n";
  const files = {
    "README.md": readme,
    "docs/one.md": page,
    "docs/how-to/a.md": page,
    "docs/decisions/b.md": "# 0007: it is so\n",
  };
  const folder = fixture(files);
  expect(readGroups(folder).map(({ pages }) => pages.map(({ title }) => title))).toEqual([
    ["Holdfast"],
    ["One"],
    ["Title"],
    ["7: It is so"],
  ]);
  expect(() => readGroups(fixture({ ...files, "docs/two.md": page }))).toThrow("docs/two.md");
});

test("where files are on the site", () => {
  expect(["README.md", "SECURITY.md", "gateway-mock/README.md", "packages/sdk/README.md"].map(pathOf)).toEqual([
    "index",
    "security",
    "gateway",
    "packages/sdk",
  ]);
  expect(["docs/a.md", "docs/decisions/README.md", "docs/how-to/b.md", "src/a.ts"].map(pathOf)).toEqual([
    "a",
    "decisions/index",
    "how-to/b",
    null,
  ]);
  expect(target("docs/a.md", "../packages/sdk", root)).toBe("packages/sdk/README.md");
  expect(target("docs/how-to/a.md", "../b.md", root)).toBe("docs/b.md");
});

test("empty pages are found, and links to pages, files and headings that are not there", () => {
  const folder = fixture({
    "index.html": `<h1>A</h1><a href="/b.html#here">b</a> <a href="./sub/c.html">c</a> <img src="/d.svg"> <a href="https://x">x</a>`,
    "b.html": `<h1>B</h1><h2 id="here">here</h2><a href="/base/">not below</a><a href="#here">up</a>`,
    "sub/c.html": `<p>nothing</p><a href="../b.html#there">b</a>`,
  });
  expect(faultsOf(folder, "/").sort()).toEqual([
    "b.html: /base/: there is no such page",
    "index.html: /d.svg: there is no such page",
    "sub/c.html: ../b.html#there: that page has no such heading",
    "sub/c.html: it is empty",
  ]);
});

test("llms.txt names each page with its first sentence", () => {
  const page = { file: "a.md", path: "a", title: "A" };
  const text = "# A\n\n<!-- note -->\n\nWhat [it](b.md) is,\nin **one** line.\n\nMore.\n";
  expect(summary(text)).toBe("What it is, in one line.");
  expect(llmsText([{ title: "Begin", pages: [page], collapsed: false }], () => text)).toContain(
    "## Begin\n\n- [A](/a.md): What it is, in one line.\n",
  );
});
