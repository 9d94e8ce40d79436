let url: (() => string | undefined) | undefined;

/** Whether a debugger can be attached to this process: then it, and not the app, may be what stops the main thread. */
export function isInspectorOpen(): boolean {
  try {
    url ??= process.getBuiltinModule("node:inspector").url;
    return url() !== undefined;
  } catch {
    // This Node was built without an inspector.
    url = () => undefined;
    return false;
  }
}
