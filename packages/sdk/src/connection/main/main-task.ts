import { nodeModule } from "../../runtime.ts";

/** What the kernel calls this thread, where that can be read (Linux): for the watch over it (`thread/main-cpu.ts`). */
export function mainTask(): { readonly mainTask?: string } {
  try {
    const task = nodeModule("node:fs").readlinkSync("/proc/thread-self").split("/").at(-1);
    return task === undefined ? {} : { mainTask: task };
  } catch {
    return {};
  }
}
