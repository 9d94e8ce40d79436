/**
 * The limit of what code may take of memory. The engine's own looks at single allocations: in WebAssembly it does not
 * know what those before have taken. So the memory that it allocates from does not grow any further.
 */

/** `WebAssembly.Memory`, as far as it is needed. */
interface WasmMemory {
  readonly buffer: { readonly byteLength: number };
  grow(pages: number): number;
}

const PAGE_BYTES = 64 * 1024;

/** Of one instance, for one call after the other. */
export class MemoryLimit {
  readonly #memory: WasmMemory;
  #maxBytes = 0;
  #beganWith = 0;
  /** Since the call began. */
  isReached = false;

  /** What the engine calls to have more is replaced: it goes on without where that throws. */
  constructor(memory: WasmMemory) {
    const grow = memory.grow.bind(memory);
    this.#memory = memory;
    memory.grow = (pages) => {
      if (memory.buffer.byteLength + pages * PAGE_BYTES <= this.#maxBytes) return grow(pages);
      this.isReached = true;
      throw new RangeError("the limit of memory");
    };
  }

  begin(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#beganWith = this.#memory.buffer.byteLength;
    this.isReached = false;
  }

  /** It never shrinks. */
  get hasGrown(): boolean {
    return this.#memory.buffer.byteLength > this.#beganWith;
  }
}
