/** Which environment is looked at: the key's own, or, with a key that opens several, one that the reader names. */
import type { JSX } from "preact";
import { chooseEnvironment, environment, session } from "../data/api.ts";

export function EnvironmentChoice(): JSX.Element | null {
  const own = session.value?.session?.environment ?? null;
  if (own !== null) return <p>Environment {own}</p>;
  const choose = (event: Event): void => chooseEnvironment((event.currentTarget as HTMLInputElement).value.trim());
  return (
    <label>
      Environment
      <input
        key={environment.value}
        defaultValue={environment.value}
        placeholder="default"
        spellcheck={false}
        onChange={choose}
      />
    </label>
  );
}
