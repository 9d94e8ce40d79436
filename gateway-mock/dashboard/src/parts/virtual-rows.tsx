/**
 * Ten thousand rows of one height in the page's own scrolling, of which only those near the window are elements, and the
 * one with the keyboard's focus. Up and down move between them; screen readers hear how many there are.
 */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { movedBy, type Range, shownOf } from "./shown-rows.ts";

export interface VirtualRowsProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly rowHeight: number;
  readonly keyOf: (row: Row) => string;
  readonly children: (row: Row) => ComponentChildren;
  /** The end is near. */
  readonly onNearEnd?: () => void;
  /** More rows are there than were read. */
  readonly hasMore?: boolean;
  /** How far the page is scrolled to begin with. */
  readonly startY?: number;
}

const BEYOND = 12;

type ListRef = { readonly current: HTMLOListElement | null };

export function VirtualRows<Row>(props: VirtualRowsProps<Row>): JSX.Element {
  const { label, rows, rowHeight, keyOf, children, onNearEnd, hasMore = false, startY = 0 } = props;
  const list = useRef<HTMLOListElement>(null);
  const [range, setRange] = useState<Range>({ from: 0, to: 40 });
  const count = rows.length;

  useLayoutEffect(() => {
    if (startY > 0) scrollTo(0, startY);
  }, []);

  // Before it is painted, so that no place is seen without its rows.
  useLayoutEffect(() => {
    const look = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / rowHeight) - BEYOND);
      const to = Math.ceil((innerHeight - top) / rowHeight) + BEYOND;
      setRange((now) => (now.from === from && now.to === to ? now : { from, to }));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rowHeight]);

  useEffect(() => {
    if (range.to + 2 * BEYOND >= count) onNearEnd?.();
  }, [range.to, count, onNearEnd]);

  const focused = useKeptFocus(list, rows, keyOf);
  useKeptPlace(list, rows, { rowHeight, keyOf });

  return (
    <ol
      ref={list}
      class="rows"
      aria-label={label}
      tabIndex={-1}
      style={{ height: `${count * rowHeight}px` }}
      onKeyDown={(event) => moveFocus(event)}
    >
      {shownOf(count, range, focused).map((index) => {
        const row = rows[index] as Row;
        return (
          <li
            key={keyOf(row)}
            data-key={keyOf(row)}
            aria-posinset={index + 1}
            aria-setsize={hasMore ? -1 : count}
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {children(row)}
          </li>
        );
      })}
    </ol>
  );
}

/** The key of the row that has the focus, as the page stands now. */
function focusedKey(list: ListRef): string | null {
  const item = document.activeElement?.closest("li");
  return item && list.current?.contains(item) ? (item.dataset.key ?? null) : null;
}

/** Where the row is that has the focus, so that it stays an element; -1: none has. Of a row that goes the list takes it. */
function useKeptFocus<Row>(list: ListRef, rows: readonly Row[], keyOf: (row: Row) => string): number {
  const key = focusedKey(list);
  const index = key === null ? -1 : rows.findIndex((row) => keyOf(row) === key);
  const isLost = key !== null && index === -1;
  useLayoutEffect(() => {
    if (isLost) list.current?.focus({ preventScroll: true });
  }, [isLost]);
  return index;
}

/** What is read stays where it is when rows come in above it, or go. */
function useKeptPlace<Row>(
  list: ListRef,
  rows: readonly Row[],
  { rowHeight, keyOf }: { readonly rowHeight: number; readonly keyOf: (row: Row) => string },
): void {
  const last = useRef<readonly Row[]>([]);
  useLayoutEffect(() => {
    const before = last.current;
    last.current = rows;
    const top = list.current?.getBoundingClientRect().top ?? 0;
    if (top >= 0) return;
    const moved = movedBy(before.map(keyOf), rows.map(keyOf), Math.ceil(-top / rowHeight));
    if (moved !== 0) scrollBy(0, moved * rowHeight);
  }, [rows]);
}

function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const at = document.activeElement;
  const item = at?.closest("li");
  // The list itself has it where a row that had it is gone.
  const next = item ? (step === 1 ? item.nextElementSibling : item.previousElementSibling) : at?.querySelector("li");
  const link = next?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
}
