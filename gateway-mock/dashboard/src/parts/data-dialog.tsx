/** A dialog that asks for data, does something with it, and says what that came to. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { type Trouble, troubleOf } from "../data/api.ts";
import { usePress } from "../data/press.ts";
import { DataForm, type DataFormProps, type GivenData } from "./data-form.tsx";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./notice.tsx";

export interface DataDialogProps extends Pick<DataFormProps, "schema" | "example"> {
  readonly title: string;
  /** What the button says. */
  readonly verb: string;
  /** What it came to, in words; null: the page has gone on to where that is seen. What it throws is shown. */
  readonly submit: (data: Readonly<Record<string, unknown>>) => Promise<ComponentChildren>;
  readonly onClose: () => void;
  /** What is asked for before the data. */
  readonly children: ComponentChildren;
}

export function DataDialog({ title, verb, submit, onClose, children, ...form }: DataDialogProps): JSX.Element {
  const [given, setGiven] = useState<GivenData>({ data: {} });
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [said, setSaid] = useState<ComponentChildren>(null);
  const press = usePress();
  const send = async (): Promise<void> => {
    setProblem(null);
    setSaid(null);
    if (given.problem !== undefined) return setProblem(given.problem);
    await submit(given.data).then(
      (came) => setSaid(came),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <DataForm label="Data" {...form} onChange={setGiven} />
      <Problem trouble={problem} />
      {said !== null && (
        <p class="notice ok" role="status">
          {said}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" {...press(send)}>
          {verb}
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
