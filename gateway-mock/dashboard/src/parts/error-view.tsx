/** What something failed with: name, message, stack, and what caused it. */
import type { JSX } from "preact";
import { CodeLink } from "./code-link.tsx";

interface Failure {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: unknown;
}

const MAX_CAUSES = 8;

/** Errors of Holdfast: what they have as `code` is in its catalogue. Apps throw others, with codes of their own. */
const EXPLAINED: ReadonlySet<string> = new Set([
  "HoldfastError",
  "StoreError",
  "StepNestedError",
  "NonDeterminismError",
  "RunDeadlineError",
  "StepTimeoutError",
  "RunNotStartedError",
]);

export function ErrorView({ error, depth = 0 }: { readonly error: unknown; readonly depth?: number }): JSX.Element {
  const { name, message, code, stack, cause } = (typeof error === "object" && error !== null ? error : {}) as Failure;
  const text = message ?? (typeof error === "string" ? error : JSON.stringify(error));
  const lines = (stack ?? "").split("\n");
  const frames = lines
    .filter((line) => /^\s*at /.test(line))
    .map((line) => line.trim())
    .join("\n");
  return (
    <div class="failure">
      <p class="failure-text">
        {depth > 0 && <span class="faint">Caused by </span>}
        {name !== undefined && <strong>{name}: </strong>}
        <bdi>{text}</bdi>
        {typeof code === "string" && EXPLAINED.has(name ?? "") && <CodeLink code={code} />}
      </p>
      {frames !== "" && (
        <pre class="stack" tabIndex={0}>
          {frames}
        </pre>
      )}
      {cause !== undefined && cause !== null && depth < MAX_CAUSES && <ErrorView error={cause} depth={depth + 1} />}
    </div>
  );
}
