import type { JSX } from "preact";
import { path } from "../data/router.ts";

export function NotFound(): JSX.Element {
  return (
    <>
      <h1>There is no such page</h1>
      <p class="lead">
        Nothing is at <code>{path.value}</code>. Begin at the <a href="/">overview</a>.
      </p>
    </>
  );
}
