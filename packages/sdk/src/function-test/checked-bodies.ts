/** Isolated bodies of a test with real threads: each module is loaded first, as `connect()` loads it. */
import { toPlainError } from "@holdfast/core";
import type { IsolatedBodies, IsolatedCall, IsolatedEnd } from "../execution/isolated-body.ts";
import type { createIsolation } from "../sdk.ts";
import type { IsolationMark } from "../steps/isolated.ts";

export class CheckedBodies implements IsolatedBodies {
  readonly #isolation: ReturnType<typeof createIsolation>;
  readonly #loads = new Map<string, Promise<void>>();
  #fault: { readonly error: unknown } | undefined;

  constructor(isolation: ReturnType<typeof createIsolation>) {
    this.#isolation = isolation;
  }

  async run(call: IsolatedCall): Promise<IsolatedEnd> {
    try {
      await this.#loaded(call.mark);
    } catch (error) {
      this.#fault ??= { error };
      // The step ends at once: the run rejects in any case.
      const plain = { ...toPlainError(error), __serialized: true } as const;
      return { type: "failed", thrown: { error: plain, isFinal: true, isStepError: false }, timing: null };
    }
    return this.#isolation.run(call);
  }

  /** That a module could not be loaded, also where the handler went on. */
  throwFault(): void {
    if (this.#fault) throw this.#fault.error;
  }

  #loaded({ module, name }: IsolationMark): Promise<void> {
    const key = `${module}\n${name}`;
    const load = this.#loads.get(key) ?? this.#load(module, name);
    this.#loads.set(key, load);
    return load;
  }

  async #load(module: string, name: string): Promise<void> {
    const pool = await this.#isolation.open();
    await pool.load([{ kind: "body", module, name }]);
  }
}
