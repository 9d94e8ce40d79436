/** JSON as text, coloured, not longer at first than can be read; all of it can be copied. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { countOf, countText } from "../data/format.ts";
import { type Cut, type JsonLine, jsonLines, type Shown } from "../data/json-lines.ts";

const FIRST_LINES = 24;
/** So much more of a text is shown at once: a browser takes its time to lay out millions of characters. */
const MORE_CHARS = 100_000;
const MORE_ITEMS = 500;
const NONE: Shown = new Map();

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const [more, setMore] = useState(NONE);
  const lines = useMemo(() => jsonLines(value, more), [value, more]);
  const shown = isWhole ? lines : lines.slice(0, FIRST_LINES);
  const showMore = ({ path, shown: before }: Cut, by: number): void => setMore(new Map(more).set(path, before + by));
  const showLess = (): void => {
    setWhole(false);
    setMore(NONE);
  };
  const isLess = isWhole || more.size > 0;
  return (
    <figure class="json" aria-label={label}>
      <pre dir="ltr">
        {shown.map((line, index) => (
          <Line key={index.toString()} line={line} onMore={showMore} />
        ))}
      </pre>
      <div class="json-verbs">
        {lines.length > FIRST_LINES && !isWhole && (
          <button type="button" class="quiet" onClick={() => setWhole(true)}>
            Show all {countText(lines.length)} lines
          </button>
        )}
        {isLess && (
          <button type="button" class="quiet" onClick={showLess}>
            Show less
          </button>
        )}
        <CopyButton text={() => JSON.stringify(value, null, 2) ?? "null"} what={label} />
      </div>
    </figure>
  );
}

interface CopyButtonProps {
  /** What is large is made when it is wanted. */
  readonly text: string | (() => string);
  readonly what: string;
}

export function CopyButton({ text, what }: CopyButtonProps): JSX.Element {
  const [said, setSaid] = useState("Copy");
  const copy = (): void => {
    void navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(
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

const KIND_CLASSES: Readonly<Record<JsonLine["kind"], string | undefined>> = {
  text: "json-string",
  digits: "json-digits",
  word: "json-word",
  bracket: undefined,
  "left-out": undefined,
};

interface LineProps {
  readonly line: JsonLine;
  readonly onMore: (cut: Cut, by: number) => void;
}

function Line({ line: { indent, key, kind, text, end, cut }, onMore }: LineProps): JSX.Element {
  const name = KIND_CLASSES[kind];
  const value = cut === null ? `${text}${end}\n` : text;
  return (
    <>
      {"  ".repeat(indent)}
      {key !== null && <span class="json-key">{key}</span>}
      {key !== null && ": "}
      {kind !== "left-out" && (name === undefined ? value : <span class={name}>{value}</span>)}
      {cut !== null && (
        <>
          <MoreButton onPress={() => onMore(cut, kind === "text" ? MORE_CHARS : MORE_ITEMS)}>
            {kind === "text" ? `… ${countOf(cut.left, "more character")}` : text}
          </MoreButton>
          <span class={name}>{`${end}\n`}</span>
        </>
      )}
    </>
  );
}

interface MoreButtonProps {
  readonly onPress: () => void;
  readonly children: string;
}

function MoreButton({ onPress, children }: MoreButtonProps): JSX.Element {
  return (
    <button type="button" class="json-more" title="Show more of it" onClick={onPress}>
      {children}
    </button>
  );
}
