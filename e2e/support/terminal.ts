/** Commands as a user types them: in a shell whose output is a pipe, and in a pseudo-terminal. */
import { spawn, spawnSync } from "node:child_process";
import { waitFor } from "@holdfast/testing";

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Variables = Readonly<Record<string, string>>;

/** The environment without settings of those who run the tests. */
function environment(env: Variables): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(HOLDFAST_(?!TOOLING)|INNGEST_|VITEST|CI$|NODE_OPTIONS$|NO_COLOR$|npm_|DATABASE_URL$)/.test(name),
  );
  return { ...Object.fromEntries(own), ...env };
}

/** Runs a line of a shell to its end. */
export function shell(line: string, options: { env?: Variables; cwd?: string; input?: string } = {}): Promise<Outcome> {
  const { env = {}, cwd, input = "" } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", line], { env: environment(env), ...(cwd === undefined ? {} : { cwd }) });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** What makes pseudo-terminals; not every machine has it, and its flags are Linux's. */
export const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

export interface Terminal {
  /** All that it has shown. */
  readonly text: string;
  readonly exited: Promise<number | null>;
  /** Resolves once it has shown this. */
  shows(part: string | RegExp): Promise<void>;
  /** As the keyboard would. */
  type(keys: string): void;
  end(): Promise<void>;
}

export const CTRL_C = "\u0003";
export const CTRL_D = "\u0004";

/** Runs a line of a shell in a pseudo-terminal of this width. */
export function openTerminal(
  line: string,
  { env = {}, columns = 100 }: { env?: Variables; columns?: number } = {},
): Terminal {
  const child = spawn("script", ["-qfec", `stty cols ${columns} rows 40; exec ${line}`, "/dev/null"], {
    env: environment({ TERM: "xterm", ...env }),
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (shown: string) => {
    text += shown;
  });
  child.stdin.on("error", () => {});
  let isOver = false;
  const exited = new Promise<number | null>((resolve) => {
    child.on("close", (code) => {
      isOver = true;
      resolve(code);
    });
  });
  return {
    get text() {
      return text;
    },
    exited,
    async shows(part) {
      const isShown = (): boolean => (typeof part === "string" ? text.includes(part) : part.test(text));
      await waitFor(() => (isShown() || isOver ? true : undefined), {
        what: `the terminal to show ${part}`,
        timeoutMs: 100_000,
      });
      if (!isShown()) throw new Error(`The command ended without showing ${part}:\n${text}`);
    },
    type: (keys) => void child.stdin.write(keys),
    async end() {
      if (!isOver) child.kill("SIGKILL");
      await exited;
    },
  };
}
