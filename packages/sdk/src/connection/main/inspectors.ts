/**
 * Main's end of the role that one of its connection threads has: the memory for it, a number for each thread, and that
 * none keeps the role beyond its end.
 */
import { INSPECTOR_ROLE_BYTES, inspectorRole } from "../shared/inspector-role.ts";

/** What a thread is given of it. */
export interface InspectorAccess {
  readonly memory: SharedArrayBuffer;
  readonly thread: number;
}

/** The threads that may inspect this one: those of all connections that share it. */
export interface Inspectors {
  /** For a new thread. */
  add(): InspectorAccess;
  onThreadEnded(thread: number): void;
}

export function createInspectors(): Inspectors {
  const memory = new SharedArrayBuffer(INSPECTOR_ROLE_BYTES);
  let threads = 0;
  return {
    add: () => {
      threads += 1;
      return { memory, thread: threads };
    },
    onThreadEnded: (thread) => inspectorRole(memory, thread).leave(),
  };
}
