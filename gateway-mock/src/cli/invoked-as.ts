/** By which words the user started this program, so that commands that are printed work as typed. Pure. */
import { delimiter, join } from "node:path";

export interface InvocationFacts {
  /** `process.argv[1]`, and where that leads. */
  readonly script: string;
  readonly node: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a path leads; undefined: nowhere. */
  readonly realPath: (path: string) => string | undefined;
}

const BIN = "holdfast-gateway";
const PACKAGE = "@holdfast/gateway";

export function invokedAs({ script, node, cwd, env, realPath }: InvocationFacts): string {
  const own = realPath(script);
  const leadsHere = (path: string): boolean => own !== undefined && realPath(path) === own;
  if (leadsHere(join(cwd, "node_modules", ".bin", BIN))) return `npx ${BIN}`;
  // What npx fetched is on the PATH of this process only.
  if (env.npm_command === "exec") return `npx -p ${PACKAGE} ${BIN}`;
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const first = folders.map((folder) => join(folder, BIN)).find((path) => realPath(path) !== undefined);
  if (first !== undefined && leadsHere(first)) return BIN;
  return `${quoted(node)} ${quoted(script)}`;
}

const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
