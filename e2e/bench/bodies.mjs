/** What the benchmark runs as bodies of isolated steps: nothing, so that what is measured is the way there and back. */
import { isolated } from "holdfast/isolate";

export const nothing = isolated(import.meta.url, "nothing", () => 1);
