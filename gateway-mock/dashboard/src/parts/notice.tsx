import type { JSX } from "preact";
import { type Trouble, wordsOf } from "../data/api.ts";
import { CodeLink } from "./code-link.tsx";
import { Words } from "./words.tsx";

/** What went wrong, in words; nothing where nothing did. */
export function Problem({ trouble }: { readonly trouble: Trouble | null }): JSX.Element | null {
  if (trouble === null) return null;
  return (
    <p class="notice bad" role="alert">
      <Words text={wordsOf(trouble)} />
      {typeof trouble !== "string" && <CodeLink code={trouble.code} />}
    </p>
  );
}
