/** The files of the dashboard, as its build left them in the package, in memory with their compressed form. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

export interface PageFile {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly gzipped: Buffer<ArrayBuffer>;
  readonly contentType: string;
  readonly etag: string;
}

export interface PageFiles {
  /** The page itself; undefined: the package was built without a dashboard. */
  readonly index: PageFile | undefined;
  /** By its name below `/ui/assets/`. Its name changes with its content. */
  readonly asset: (name: string) => PageFile | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Beside the bundle, or from the sources in the build result. */
const FOLDERS = ["./dashboard/", "../../../dist/dashboard/"];

/** Reads each file when it is first asked for. */
export function pageFiles(base: string = import.meta.url, folders: readonly string[] = FOLDERS): PageFiles {
  const folder = folders.map((path) => new URL(path, base)).find((url) => existsSync(new URL("index.html", url)));
  const read = new Map<string, PageFile>();
  const file = (path: string): PageFile | undefined => {
    if (!folder) return undefined;
    const known = read.get(path) ?? load(new URL(path, folder));
    read.set(path, known);
    return known;
  };
  const assets = new URL("assets/", folder ?? base);
  const names = new Set(folder && existsSync(assets) ? readdirSync(assets) : []);
  return {
    get index() {
      return file("index.html");
    },
    asset: (name) => (names.has(name) ? file(`assets/${name}`) : undefined),
  };
}

function load(url: URL): PageFile {
  const bytes = Buffer.from(readFileSync(url));
  return {
    bytes,
    gzipped: Buffer.from(gzipSync(bytes, { level: 9 })),
    contentType: TYPES[/[^.]*$/.exec(url.pathname)?.[0] ?? ""] ?? "application/octet-stream",
    etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
  };
}
