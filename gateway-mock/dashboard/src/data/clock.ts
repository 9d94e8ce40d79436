/** The time, for what says how long ago something was: it moves once a second while the page is seen. */
import { signal } from "@preact/signals";

export const nowMs = signal(Date.now());

const tick = (): void => {
  if (!document.hidden) nowMs.value = Date.now();
};
setInterval(tick, 1_000);
document.addEventListener("visibilitychange", tick);
