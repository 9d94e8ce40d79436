/** JSON data to be filled in: by its fields where they are known, or as text. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type DataField, dataOf, type FieldValues, fieldsOf, objectOf } from "../data/data-fields.ts";
import type { DataCheck } from "../data/schema-check.ts";

export type GivenData =
  | { readonly data: Readonly<Record<string, unknown>>; readonly problem?: undefined }
  | { readonly problem: string };

export interface DataFormProps {
  /** What it is called: `Data`. */
  readonly label: string;
  /** JSON schema of it, by which it is checked; undefined: none is known, or not yet. */
  readonly schema?: unknown;
  /** What it begins with; may come later, and replaces nothing that was typed by then. */
  readonly example: unknown;
  readonly onChange: (given: GivenData) => void;
}

export function DataForm({ label, schema, example, onChange }: DataFormProps): JSX.Element {
  const fields = useMemo(() => fieldsOf(schema, example), [schema, example]);
  const check = useCheck(schema);
  const [chosen, setChosen] = useState<"text" | "fields" | null>(null);
  const [text, setText] = useState("{}");
  const [values, setValues] = useState<FieldValues>({});
  const [isKeptBack, setKeptBack] = useState(false);
  const isTyped = useRef(false);
  const begin = (): void => {
    isTyped.current = false;
    setKeptBack(false);
    setValues({});
    setText(JSON.stringify(example, null, 2));
  };
  useEffect(() => {
    // Fields that were not filled in have it by themselves.
    if (isTyped.current) setKeptBack(!isEmpty(example));
    else begin();
  }, [example]);
  const isText = fields.length === 0 || (chosen ?? (schema === undefined ? "text" : "fields")) === "text";
  useEffect(() => {
    const data = isText ? objectOf(text) : null;
    const given = !isText
      ? dataOf(fields, values)
      : data === null
        ? { problem: `The ${label.toLowerCase()} must be a JSON object.` }
        : { data };
    const problem = "data" in given ? check(given.data) : null;
    onChange(problem === null ? given : { problem });
  }, [isText, text, values, fields, check]);
  const change = (): void => {
    const given = dataOf(fields, values);
    // What was filled in is taken along.
    if (!isText && "data" in given) setText(JSON.stringify(given.data, null, 2));
    setChosen(isText ? "fields" : "text");
  };
  return (
    <div class="data-form">
      {isText ? (
        <label>
          {label}, as JSON
          <textarea
            rows={9}
            spellcheck={false}
            value={text}
            onInput={(input) => {
              isTyped.current = true;
              setText(input.currentTarget.value);
              setChosen("text");
            }}
          />
        </label>
      ) : (
        <fieldset class="data-fields">
          <legend>{label}</legend>
          {fields.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={values[field.name] ?? field.initial}
              onChange={(value) => {
                isTyped.current = true;
                setValues((before) => ({ ...before, [field.name]: value }));
              }}
            />
          ))}
        </fieldset>
      )}
      {fields.length > 0 && (
        <button type="button" class="quiet" onClick={change}>
          {isText ? "As fields" : "As JSON"}
        </button>
      )}
      {isKeptBack && (
        <button type="button" class="quiet" onClick={begin}>
          Replace by the data that came last
        </button>
      )}
    </div>
  );
}

const UNCHECKED: DataCheck = () => null;

/** The check comes with the first form that has a schema. Without it data is sent unchecked: the app checks what it gets. */
function useCheck(schema: unknown): DataCheck {
  const [check, setCheck] = useState<DataCheck>(() => UNCHECKED);
  useEffect(() => {
    let isWanted = true;
    setCheck(() => UNCHECKED);
    if (schema !== undefined) {
      import("../data/schema-check.ts").then(
        ({ checkOf }) => isWanted && setCheck(() => checkOf(schema)),
        () => {},
      );
    }
    return () => {
      isWanted = false;
    };
  }, [schema]);
  return check;
}

const isEmpty = (example: unknown): boolean =>
  typeof example !== "object" || example === null || Object.keys(example).length === 0;

interface FieldProps {
  readonly field: DataField;
  readonly value: string | boolean;
  readonly onChange: (value: string | boolean) => void;
}

function Field({ field, value, onChange }: FieldProps): JSX.Element {
  const { name, kind, choices, isRequired, help } = field;
  if (kind === "boolean") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        <bdi>{name}</bdi>
        {help !== "" && <span class="faint">{help}</span>}
      </label>
    );
  }
  const text = String(value);
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: it has one of two
    <label>
      <span class="field-name">
        <bdi>{name}</bdi>
        {!isRequired && <span class="faint"> (optional)</span>}
        {kind === "json" && <span class="faint"> JSON</span>}
        {help !== "" && <span class="faint"> · {help}</span>}
      </span>
      {kind === "choice" ? (
        <select value={text} onChange={(event) => onChange(event.currentTarget.value)}>
          {(!isRequired || text === "") && <option value="">–</option>}
          {choices.map((one) => (
            <option key={one} value={String(one)}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input
          value={text}
          spellcheck={false}
          inputMode={kind === "number" ? "decimal" : undefined}
          class={kind === "json" ? "mono" : undefined}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </label>
  );
}
