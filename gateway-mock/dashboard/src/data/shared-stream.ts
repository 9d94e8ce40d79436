/**
 * One live stream for all tabs of a browser, which opens only six connections to a gateway: one tab, the leader, holds
 * the stream and passes on what it hears. A Web Lock says which: when a leader closes, the next tab leads at once.
 */
import { follow, type StreamHandlers, type StreamMessage } from "./event-stream.ts";

/** What tabs tell each other. */
type Word =
  /** Is there a leader, and does it hear the gateway? */
  | { readonly type: "asks" }
  | { readonly type: "state"; readonly isOpen: boolean }
  | { readonly type: "message"; readonly message: StreamMessage }
  | { readonly type: "heard" };

const ASK_MS = 5_000;
/** A leader that takes longer is frozen, as browsers do with tabs in the background. */
const ANSWER_MS = 2_500;
/** A tab without the others' stream gives up its own when it has been hidden for so long. */
const HIDDEN_MS = 10_000;

/** Until the returned function is called. Tabs that give the same `name` share the stream. */
export function followTogether(name: string, path: string, handlers: StreamHandlers): () => void {
  // Browsers have locks only where the page came over TLS or from their own machine.
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return followWhileSeen(path, handlers);
  const tab = new SharingTab({ locks, name, path, handlers });
  return () => tab.end();
}

interface SharingParts {
  readonly locks: LockManager;
  readonly name: string;
  readonly path: string;
  readonly handlers: StreamHandlers;
}

class SharingTab {
  readonly #parts: SharingParts;
  readonly #channel: BroadcastChannel;
  readonly #asking: ReturnType<typeof setInterval>;
  /** Of the request for the lock. */
  #request = new AbortController();
  #stopLeading: (() => void) | null = null;
  #answerTimer: ReturnType<typeof setTimeout> | undefined;
  #takesOver = false;
  #isOver = false;
  /** Null: not known yet. */
  #isOpen: boolean | null = null;

  constructor(parts: SharingParts) {
    this.#parts = parts;
    this.#channel = new BroadcastChannel(parts.name);
    this.#channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data);
    this.#asking = setInterval(this.#look, ASK_MS);
    document.addEventListener("visibilitychange", this.#look);
    document.addEventListener("resume", this.#resume);
    this.#ask();
    void this.#queue();
  }

  end(): void {
    this.#isOver = true;
    clearInterval(this.#asking);
    clearTimeout(this.#answerTimer);
    document.removeEventListener("visibilitychange", this.#look);
    document.removeEventListener("resume", this.#resume);
    this.#request.abort();
    this.#stopLeading?.();
    this.#channel.close();
  }

  async #queue(): Promise<void> {
    const { locks, name } = this.#parts;
    while (!this.#isOver) {
      this.#request = new AbortController();
      const options = this.#takesOver ? { steal: true } : { signal: this.#request.signal };
      this.#takesOver = false;
      // It fails when another tab takes over, or this one is to take over itself.
      await locks.request(name, options, () => this.#lead()).catch(() => {});
      if (this.#stopLeading === null) continue;
      this.#stopLeading();
      if (!this.#isOver) this.#catchUp();
    }
  }

  /** Until it stops. */
  #lead(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isOver) return resolve();
      clearTimeout(this.#answerTimer);
      let heardMs = 0;
      const endStream = follow(this.#parts.path, {
        onState: (isOpen) => this.#tell({ type: "state", isOpen }),
        onMessage: (message) => this.#tell({ type: "message", message }),
        onHeard: () => {
          if (Date.now() - heardMs < 1_000) return;
          heardMs = Date.now();
          this.#tell({ type: "heard" });
        },
      });
      this.#stopLeading = () => {
        this.#stopLeading = null;
        endStream();
        resolve();
      };
      // Between two leaders something may have been missed.
      if (this.#isOpen !== null) this.#tell({ type: "state", isOpen: false });
    });
  }

  #tell(word: Word): void {
    if (this.#isOver) return;
    this.#channel.postMessage(word);
    this.#take(word);
  }

  #hear(word: Word): void {
    const isLeading = this.#stopLeading !== null;
    if (word.type === "asks") {
      if (isLeading) this.#channel.postMessage({ type: "state", isOpen: this.#isOpen === true } satisfies Word);
      return;
    }
    clearTimeout(this.#answerTimer);
    if (!isLeading) this.#take(word);
  }

  #take(word: Word): void {
    const { onState, onMessage, onHeard } = this.#parts.handlers;
    if (word.type === "message") onMessage(word.message);
    else if (word.type === "heard") onHeard?.();
    else if (word.type === "state" && word.isOpen !== this.#isOpen) {
      this.#isOpen = word.isOpen;
      onState(word.isOpen);
    }
  }

  readonly #look = (): void => {
    if (!document.hidden) this.#ask();
  };

  /** What came while this tab was frozen is lost. */
  readonly #resume = (): void => {
    if (this.#stopLeading === null) this.#catchUp();
  };

  /** Something may have been missed until the leader answers. */
  #catchUp(): void {
    this.#take({ type: "state", isOpen: false });
    this.#ask();
  }

  #ask(): void {
    if (this.#stopLeading !== null) return;
    clearTimeout(this.#answerTimer);
    this.#answerTimer = setTimeout(() => {
      this.#takesOver = true;
      this.#request.abort();
    }, ANSWER_MS);
    this.#channel.postMessage({ type: "asks" } satisfies Word);
  }
}

/** A stream of its own, for as long as people see the tab; what was missed is read when they see it again. */
function followWhileSeen(path: string, handlers: StreamHandlers): () => void {
  let end: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wasHidden = document.hidden;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        end?.();
        end = null;
        wasHidden = true;
      }, HIDDEN_MS);
    } else if (end === null) {
      if (wasHidden) handlers.onState(false);
      end = follow(path, handlers);
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
    end?.();
  };
}
