/** The status of a run: a word, and a shape that tells it apart without colour. */
import type { JSX } from "preact";
import type { Status } from "../data/types.ts";

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
  PENDING: "Pending",
  RUNNING: "Running",
  WAITING: "Waiting",
  COMPLETED: "Completed",
  FAILED: "Failed",
  CANCELLED: "Cancelled",
};

const SHAPES: Readonly<Record<Status, JSX.Element>> = {
  PENDING: <circle cx="8" cy="8" r="5" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="2.6 2.6" />,
  RUNNING: <path d="M5 3.4v9.2L12.6 8z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />,
  WAITING: (
    <path d="M5.4 3.5v9M10.6 3.5v9" fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" />
  ),
  COMPLETED: (
    <path d="M3.2 8.6l3.2 3.2 6.4-7.2" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />
  ),
  FAILED: (
    <path d="M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />
  ),
  CANCELLED: <path d="M3.5 8h9" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" />,
};

/** Within an SVG of 16 by 16. */
export const StatusShape = ({ status }: { readonly status: string }): JSX.Element | null =>
  SHAPES[status as Status] ?? null;

export function StatusMark({
  status,
  isShort = false,
}: {
  readonly status: Status;
  readonly isShort?: boolean;
}): JSX.Element {
  return (
    <span class="status" data-status={status}>
      <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        {SHAPES[status]}
      </svg>
      <span class={isShort ? "hidden-text" : undefined}>{STATUS_WORDS[status] ?? status}</span>
    </span>
  );
}
