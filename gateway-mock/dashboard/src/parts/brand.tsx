import type { JSX } from "preact";

export function BrandMark(): JSX.Element {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path
        d="M11 7v18M21 7v18M11 16h10"
        fill="none"
        stroke="var(--on-accent)"
        stroke-width="3"
        stroke-linecap="round"
      />
    </svg>
  );
}
