import type { JSX } from "preact";

/** What went wrong, in words; nothing where nothing did. */
export function Problem({ text }: { readonly text: string | null }): JSX.Element | null {
  return text === null ? null : (
    <p class="notice bad" role="alert">
      {text}
    </p>
  );
}
