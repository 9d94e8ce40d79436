/** From when to when runs were created: as the browser's time zone has it, in the address as UTC. */
import type { JSX } from "preact";
import { setQuery } from "../data/router.ts";
import type { Filter } from "./runs-filter.ts";

export function TimeRange({ filter }: { readonly filter: Filter }): JSX.Element {
  const { from, to } = filter;
  return (
    <>
      <TimeField label="From" value={from} onSet={(time) => setQuery({ from: time })} />
      <TimeField label="To" value={to} onSet={(time) => setQuery({ to: time })} />
      {from !== "" && to !== "" && from >= to && (
        <p class="error-note" role="status">
          The time ends before it begins: no run fits.
        </p>
      )}
    </>
  );
}

interface TimeFieldProps {
  readonly label: string;
  /** ISO 8601, or empty. */
  readonly value: string;
  readonly onSet: (time: string) => void;
}

function TimeField({ label, value, onSet }: TimeFieldProps): JSX.Element {
  const set = (text: string): void => onSet(text === "" ? "" : new Date(text).toISOString());
  return (
    <label class="time-field">
      {label}
      <input type="datetime-local" value={localText(value)} onChange={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

/** To the minute, in the browser's time zone. */
function localText(iso: string): string {
  if (iso === "") return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
