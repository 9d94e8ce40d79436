import type { JSX } from "preact";

/** A sentence of the gateway's: what stands between backticks in it is code. */
export function Words({ text }: { readonly text: string }): JSX.Element {
  // With an odd number of them the last one opens nothing.
  const parts = text.split("`");
  const last = parts.length % 2 === 0 ? `\`${parts.pop()}` : "";
  return (
    <>
      {parts.map((part, index) => (index % 2 === 0 ? part : <code key={String(index)}>{part}</code>))}
      {last}
    </>
  );
}
