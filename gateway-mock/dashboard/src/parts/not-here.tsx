/** What there is to say of a run that the environment does not have: in which one it is, as far as that can be known. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { environment } from "../data/api.ts";
import { ENVIRONMENT_PART } from "../data/environment-link.ts";
import { type Elsewhere, lookElsewhere, shownEnvironment } from "../data/other-environments.ts";

export function NotHere({ runId }: { readonly runId: string }): JSX.Element | null {
  const [found, setFound] = useState<Elsewhere | null>(null);
  const here = environment.value;
  useEffect(() => {
    let isOver = false;
    setFound(null);
    lookElsewhere(`/v1/runs/${encodeURIComponent(runId)}`).then(
      (one) => !isOver && setFound(one),
      // What could not be read is not said.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [runId, here]);
  if (found === null) return null;
  const { name, others } = found;
  if (name !== null) {
    return (
      <p class="notice">
        It is in the environment <bdi>{name}</bdi>; this page looks at <bdi>{shownEnvironment(here)}</bdi>.{" "}
        <a href={`/ui/runs/${encodeURIComponent(runId)}?${ENVIRONMENT_PART}=${encodeURIComponent(name)}`}>
          Show it there
        </a>
      </p>
    );
  }
  return (
    <p class="lead">
      Looked for in the environment <bdi>{shownEnvironment(here)}</bdi>
      {others.length > 0 && (
        <>
          , and in the others that are known: <bdi>{others.join(", ")}</bdi>
        </>
      )}
      .
    </p>
  );
}
