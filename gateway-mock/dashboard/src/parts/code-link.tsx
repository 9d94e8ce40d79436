import type { JSX } from "preact";

/** Leads to what the gateway says of one of its error codes: a page of its own, beside the one that is open. */
export function CodeLink({ code }: { readonly code: string }): JSX.Element {
  return (
    <>
      {" "}
      <a class="code-link" href={`/errors/${encodeURIComponent(code)}`} target="_blank" rel="noopener">
        About <span class="mono">{code}</span>
      </a>
    </>
  );
}
