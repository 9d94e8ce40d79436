/** JSON as text, coloured, not longer at first than can be read; all of it can be copied. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";

const FIRST_LINES = 24;
const MAX_CHARS = 200_000;

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const text = JSON.stringify(value, null, 2) ?? "null";
  const lines = text.slice(0, MAX_CHARS).split("\n");
  const shown = isWhole ? lines : lines.slice(0, FIRST_LINES);
  return (
    <figure class="json" aria-label={label}>
      <pre dir="ltr">
        {shown.map((line, index) => (
          <Line key={index.toString()} text={`${line}\n`} />
        ))}
        {isWhole && text.length > MAX_CHARS && "… the rest is left out here; copying takes all of it"}
      </pre>
      <div class="json-verbs">
        {lines.length > FIRST_LINES && (
          <button type="button" class="quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? "Show less" : `Show all ${lines.length} lines`}
          </button>
        )}
        <CopyButton text={text} what={label} />
      </div>
    </figure>
  );
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [said, setSaid] = useState("Copy");
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      () => setSaid("The browser did not allow it"),
    );
    setTimeout(() => setSaid("Copy"), 2_000);
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      {said}
      <span class="hidden-text"> {what}</span>
    </button>
  );
}

const LINE = /^(\s*)("(?:[^"\\]|\\.)*"(?=: ))?(: )?(.*)$/s;

function Line({ text }: { readonly text: string }): JSX.Element {
  const [, space = "", key, colon = "", rest = ""] = LINE.exec(text) ?? [];
  const kind = rest.startsWith('"') ? "string" : /^[\d-]/.test(rest) ? "digits" : /^[tfn]/.test(rest) ? "word" : "";
  return (
    <>
      {space}
      {key !== undefined && <span class="json-key">{key}</span>}
      {colon}
      {kind === "" ? rest : <span class={`json-${kind}`}>{rest}</span>}
    </>
  );
}
