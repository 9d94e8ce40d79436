/** The filters of the list of runs. All of them are in the address, so a view can be kept and passed on. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { environment, get } from "../data/api.ts";
import { navigate, setQuery } from "../data/router.ts";
import { type FunctionView, STATUSES, type Status } from "../data/types.ts";
import { STATUS_WORDS } from "../parts/status.tsx";
import { GraphFilter } from "./graph-filter.tsx";
import { type Filter, isFiltered, RANGE, WINDOWS } from "./runs-filter.ts";
import { TimeRange } from "./time-range.tsx";

const names = signal<readonly string[]>([]);
/** Of a run, and of most events: 26 letters and digits. */
const ID = /^[0-9A-Za-z]{26}$/;

async function readNames(): Promise<void> {
  const { functions } = await get<{ functions: readonly FunctionView[] }>("/v1/functions").catch(() => ({
    functions: [],
  }));
  names.value = functions.map(({ id }) => id);
}

export function FilterBar({ filter }: { readonly filter: Filter }): JSX.Element {
  useEffect(() => void readNames(), [environment.value]);
  const { statuses } = filter;
  const toggle = (status: Status): void => {
    const next = statuses.includes(status) ? statuses.filter((one) => one !== status) : [...statuses, status];
    setQuery({ status: next.join(",") });
  };
  const all =
    filter.functionId === "" || names.value.includes(filter.functionId)
      ? names.value
      : [filter.functionId, ...names.value];
  const value = (event: Event): string => (event.currentTarget as HTMLInputElement | HTMLSelectElement).value.trim();
  return (
    <form class="filters" role="search" aria-label="Filter runs" onSubmit={find}>
      <fieldset class="chips">
        <legend class="hidden-text">Status</legend>
        {STATUSES.map((status) => (
          <label key={status} class="chip" data-status={status}>
            <input type="checkbox" checked={statuses.includes(status)} onChange={() => toggle(status)} />
            <span>{STATUS_WORDS[status]}</span>
          </label>
        ))}
      </fieldset>
      <div class="fields">
        <label>
          Function
          <select value={filter.functionId} onChange={(event) => setQuery({ function: value(event) })}>
            <option value="">All functions</option>
            {all.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <GraphFilter filter={filter} />
        <label>
          Created
          <select value={filter.window} onChange={(event) => setQuery({ time: value(event), from: "", to: "" })}>
            <option value="">At any time</option>
            {Object.entries(WINDOWS).map(([key, { label }]) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
            <option value={RANGE}>From … to …</option>
          </select>
        </label>
        {filter.window === RANGE && <TimeRange filter={filter} />}
        <TextFilter label="Event name" value={filter.eventName} onSet={(eventName) => setQuery({ eventName })} />
        <TextFilter label="Text in the error" value={filter.error} onSet={(error) => setQuery({ error })} />
        <label>
          Id or key
          <input
            key={filter.eventId || filter.key}
            name="id"
            defaultValue={filter.eventId || filter.key}
            spellcheck={false}
            placeholder="of a run or an event"
          />
        </label>
        <button type="submit">Find</button>
        {isFiltered(filter) && (
          <a class="clear" href="/ui/runs">
            Show all
          </a>
        )}
      </div>
    </form>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onSet: (value: string) => void;
}

/** Set once it is left, so that what is typed stays while rows come in. */
function TextFilter({ label, value, onSet }: TextFilterProps): JSX.Element {
  return (
    <label>
      {label}
      <input
        key={value}
        defaultValue={value}
        spellcheck={false}
        onChange={(event) => onSet(event.currentTarget.value.trim())}
      />
    </label>
  );
}

/** What is looked for is a run, or an event, or else the id that a sender gave. */
async function find(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const id = String(new FormData(event.currentTarget as HTMLFormElement).get("id") ?? "").trim();
  if (id === "") return setQuery({ event: "", key: "" });
  if (ID.test(id)) {
    if (await isThere(`/v1/runs/${id}`)) return navigate(`/ui/runs/${id}`);
    if (await isThere(`/v1/events/${id}`)) return setQuery({ event: id, key: "" });
  }
  setQuery({ event: "", key: id });
}

const isThere = (path: string): Promise<boolean> =>
  get(path).then(
    () => true,
    () => false,
  );
