/** Light or dark: as the system says, unless the reader has chosen. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

type Theme = "light" | "dark";
const KEPT = "holdfast-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<Theme | null>(readKept());
const systemTheme = signal<Theme>(system.matches ? "dark" : "light");

system.addEventListener("change", ({ matches }) => {
  systemTheme.value = matches ? "dark" : "light";
});

function readKept(): Theme | null {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null;
  }
}

export function applyTheme(): void {
  if (chosen.value === null) document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = chosen.value;
}

export function ThemeButton(): JSX.Element {
  const now = chosen.value ?? systemTheme.value;
  const other: Theme = now === "dark" ? "light" : "dark";
  const choose = (): void => {
    chosen.value = other;
    applyTheme();
    try {
      localStorage.setItem(KEPT, other);
    } catch {
      // It lasts as long as the page.
    }
  };
  return (
    <button type="button" class="quiet" onClick={choose}>
      {other === "dark" ? "Dark" : "Light"}
    </button>
  );
}
