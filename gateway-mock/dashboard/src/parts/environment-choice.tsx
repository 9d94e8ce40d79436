/** Which environment is looked at: the key's own, or, with a key that opens several, one that the reader names. */
import type { JSX } from "preact";
import { environment, session } from "../data/api.ts";
import { ENVIRONMENTS_PATH, type KnownEnvironment, shownEnvironment } from "../data/other-environments.ts";
import { usePolled } from "../data/polled.ts";
import { showEnvironment } from "../data/router.ts";

const NOW_AND_THEN = { everyMs: 15_000, withRuns: false };

export function EnvironmentChoice(): JSX.Element | null {
  const own = session.value?.session?.environment ?? null;
  if (own !== null) return <p>Environment {own}</p>;
  return <Choice />;
}

function Choice(): JSX.Element {
  const { value } = usePolled<{ environments: readonly KnownEnvironment[] }>(ENVIRONMENTS_PATH, NOW_AND_THEN);
  const known = value?.environments.map(({ name }) => name) ?? [];
  const here = environment.value;
  const isUnknown = value !== null && here !== "" && !known.includes(here);
  const choose = (event: Event): void => showEnvironment((event.currentTarget as HTMLInputElement).value.trim());
  return (
    <>
      <label>
        Environment
        <input
          key={here}
          defaultValue={here}
          placeholder={shownEnvironment("")}
          list="environments"
          spellcheck={false}
          aria-describedby={isUnknown ? "environment-unknown" : undefined}
          onChange={choose}
        />
      </label>
      <datalist id="environments">
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {isUnknown && (
        <p id="environment-unknown" class="environment-unknown">
          No app has connected in it. {known.length > 0 && `Known: ${known.join(", ")}.`}
        </p>
      )}
    </>
  );
}
