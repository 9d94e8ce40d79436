/** The title of a page about one thing, which tells the tabs of several apart. */
import { useEffect } from "preact/hooks";

/** `kind` is that of the page, such as `Run`. Null: what it is about is not known yet. */
export function usePageTitle(name: string | null, kind: string): void {
  useEffect(() => {
    if (name !== null) document.title = `${name} · ${kind} · Holdfast`;
  }, [name, kind]);
}
