/**
 * Ten thousand rows of one height in the page's own scrolling, of which only those near the window are elements. Up and
 * down move between them; screen readers hear how many there are.
 */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

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
}

const BEYOND = 12;

interface Range {
  readonly from: number;
  readonly to: number;
}

export function VirtualRows<Row>(props: VirtualRowsProps<Row>): JSX.Element {
  const { label, rows, rowHeight, keyOf, children, onNearEnd, hasMore = false } = props;
  const list = useRef<HTMLOListElement>(null);
  const [range, setRange] = useState<Range>({ from: 0, to: 40 });
  const count = rows.length;

  useEffect(() => {
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

  useKeptPlace(list, rows, { rowHeight, keyOf });

  return (
    <ol
      ref={list}
      class="rows"
      aria-label={label}
      style={{ height: `${count * rowHeight}px` }}
      onKeyDown={(event) => moveFocus(event)}
    >
      {rows.slice(range.from, range.to).map((row, offset) => (
        <li
          key={keyOf(row)}
          aria-posinset={range.from + offset + 1}
          aria-setsize={hasMore ? -1 : count}
          style={{ top: `${(range.from + offset) * rowHeight}px`, height: `${rowHeight}px` }}
        >
          {children(row)}
        </li>
      ))}
    </ol>
  );
}

/** What is read stays where it is when rows come in above it. */
function useKeptPlace<Row>(
  list: { readonly current: HTMLOListElement | null },
  rows: readonly Row[],
  { rowHeight, keyOf }: { readonly rowHeight: number; readonly keyOf: (row: Row) => string },
): void {
  const first = useRef<string | null>(null);
  useLayoutEffect(() => {
    const now = rows[0] === undefined ? null : keyOf(rows[0]);
    const before = first.current;
    first.current = now;
    const top = list.current?.getBoundingClientRect().top ?? 0;
    if (before === null || now === before || top >= 0) return;
    const added = rows.findIndex((row) => keyOf(row) === before);
    if (added > 0) scrollBy(0, added * rowHeight);
  }, [rows]);
}

function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || event.altKey || event.ctrlKey || event.metaKey) return;
  const item = document.activeElement?.closest("li");
  const next = step === 1 ? item?.nextElementSibling : item?.previousElementSibling;
  const link = next?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
}
