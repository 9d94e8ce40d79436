/** Whether the window is as narrow as the style sheets have it. */
import { signal } from "@preact/signals";

const wide = matchMedia("(min-width: 761px)");
const isNarrow = signal(!wide.matches);
wide.addEventListener("change", () => {
  isNarrow.value = !wide.matches;
});

export const useNarrow = (): boolean => isNarrow.value;
