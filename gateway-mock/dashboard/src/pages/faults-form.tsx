/** Asks for a fault. Which fields each kind takes, the gateway says. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, type Trouble, troubleOf } from "../data/api.ts";
import { Problem } from "../parts/notice.tsx";

export interface FaultKind {
  readonly what: string;
  readonly does: string;
  readonly where: readonly string[];
  readonly settings: readonly string[];
  readonly isAtOnce: boolean;
}

/** How a field is called, what is typed into it, and how it is sent. */
const FIELDS: Readonly<Record<string, { readonly label: string; readonly hint: string; readonly isNumber?: true }>> = {
  kind: { label: "Kinds of frames", hint: "WORKER_REPLY, WORKER_CHECKPOINT" },
  direction: { label: "Direction", hint: "to-worker or to-gateway" },
  connection: { label: "Connection or worker", hint: "web-1" },
  function: { label: "Function", hint: "shop-order" },
  step: { label: "Step", hint: "charge" },
  run: { label: "Run", hint: "its id" },
  operation: { label: "Calls of the database", hint: "commit, claim" },
  delayMs: { label: "Delay (ms)", hint: "100", isNumber: true },
  jitterMs: { label: "Up to so much more (ms)", hint: "0", isNumber: true },
  copies: { label: "Copies", hint: "1", isNumber: true },
  code: { label: "Close code", hint: "1011", isNumber: true },
  reason: { label: "Reason", hint: "connect_internal_error" },
  moment: { label: "Moment", hint: "before-commit or after-commit" },
  status: { label: "Status", hint: "503", isNumber: true },
  skipMs: { label: "How far (ms)", hint: "3600000", isNumber: true },
  probability: { label: "Share of what fits", hint: "1", isNumber: true },
  count: { label: "How often at most", hint: "no limit", isNumber: true },
  after: { label: "Left alone first", hint: "0", isNumber: true },
  fromMs: { label: "Not before (ms)", hint: "0", isNumber: true },
  forMs: { label: "For (ms)", hint: "until it is removed", isNumber: true },
  everyMs: { label: "Again every (ms)", hint: "once", isNumber: true },
  seed: { label: "Seed", hint: "any", isNumber: true },
};
const LISTS: ReadonlySet<string> = new Set(["kind", "operation"]);
const LIMITS = ["probability", "count", "after", "fromMs", "forMs", "seed"];

interface FaultFormProps {
  readonly kinds: readonly FaultKind[];
  readonly onAdded: () => void;
}

export function FaultForm({ kinds, onAdded }: FaultFormProps): JSX.Element {
  const [what, setWhat] = useState(kinds[0]?.what ?? "");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState<Trouble | null>(null);
  const kind = kinds.find((one) => one.what === what);
  const limits = kind?.isAtOnce ? [...LIMITS, "everyMs"] : LIMITS;
  const shown = [...(kind?.where ?? []), ...(kind?.settings ?? [])];
  const add = (event: Event): void => {
    event.preventDefault();
    setProblem(null);
    const where = filled(kind?.where ?? [], values);
    const rest = filled([...(kind?.settings ?? []), ...limits], values);
    const body = { what, ...(Object.keys(where).length === 0 ? {} : { where }), ...rest };
    post("/v1/faults", body).then(onAdded, (error: unknown) => setProblem(troubleOf(error)));
  };
  const field = (name: string): JSX.Element => (
    <label key={name}>
      {FIELDS[name]?.label ?? name}
      <input
        value={values[name] ?? ""}
        placeholder={FIELDS[name]?.hint ?? ""}
        spellcheck={false}
        inputMode={FIELDS[name]?.isNumber ? "decimal" : "text"}
        onInput={(event) => {
          const { value } = event.currentTarget;
          setValues((before) => ({ ...before, [name]: value }));
        }}
      />
    </label>
  );
  return (
    <form class="card padded fault-form" aria-label="Ask for a fault" onSubmit={add}>
      <label>
        What goes wrong
        <select value={what} onChange={(event) => setWhat(event.currentTarget.value)}>
          {kinds.map((one) => (
            <option key={one.what} value={one.what}>
              {one.what}
            </option>
          ))}
        </select>
      </label>
      {kind && <p class="lead">It {kind.does.replaceAll("`", "")}.</p>}
      {shown.length > 0 && <div class="fault-fields">{shown.map(field)}</div>}
      <details>
        <summary>How often, and when</summary>
        <div class="fault-fields">{limits.map(field)}</div>
      </details>
      <Problem trouble={problem} />
      <div class="buttons">
        <button type="submit" class="primary">
          Make it go wrong
        </button>
      </div>
    </form>
  );
}

/** What is not filled in is left out; the gateway says what is wrong with the rest. */
function filled(names: readonly string[], values: Readonly<Record<string, string>>): Record<string, unknown> {
  const given = names.flatMap((name): [string, unknown][] => {
    const text = values[name]?.trim() ?? "";
    return text === "" ? [] : [[name, sentAs(name, text)]];
  });
  return Object.fromEntries(given);
}

function sentAs(name: string, text: string): unknown {
  if (LISTS.has(name)) return text.split(",").map((one) => one.trim());
  const number = Number(text);
  return FIELDS[name]?.isNumber && !Number.isNaN(number) ? number : text;
}
