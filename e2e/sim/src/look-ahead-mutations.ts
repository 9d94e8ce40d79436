/** Mutations of the guards around handlers that are ahead of the store; see `mutations.ts`. */
import type { Guard } from "./guard.ts";

const IN_PLACE = "packages/sdk/src/steps/in-place-machine.ts";

/** What keeps the promise while a handler is ahead of the store. */
export const LOOK_AHEAD_GUARDS: readonly Guard[] = [
  {
    name: "a body waits until what its handler has seen is stored",
    edits: [
      {
        file: IN_PLACE,
        find: "if (state.seen === state.stored && state.unstoredWaits === 0) return",
        replace: "if (true) return",
      },
    ],
  },
  {
    name: "a held body waits for all that its handler has seen",
    edits: [{ file: IN_PLACE, find: "held.every(isDue) ? held : held.filter(isDue)", replace: "held" }],
  },
  {
    name: "results that are not stored go with the end",
    edits: [
      {
        file: IN_PLACE,
        find: "if (results !== null) return endAs(state, ending, results);",
        replace: "if (results !== null) return endAs(state, ending, []);",
      },
    ],
  },
  {
    name: "a reply repeats the results that are on their way",
    edits: [
      {
        file: IN_PLACE,
        find: "const results = [...sent, ...toArray(unsent)];",
        replace: "const results = toArray(unsent);",
      },
    ],
  },
  {
    name: "the end of a handler comes after the results of its steps",
    edits: [
      {
        file: "packages/sdk/src/execution/result-of.ts",
        find: "opsBytes(resultsIn(mode, results, position), [endOpText(end)])",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
        replace: 'sharableText(`[${[endOpText(end), ...results.map(({ text }) => text)].join(",")}]`)',
      },
    ],
  },
  {
    name: "a result keeps its place before waits that ended unseen",
    edits: [
      {
        file: "packages/engine/src/run/result-places.ts",
        find: "return place < before || this.#state.open.size > 0 ? place : undefined;",
        replace: "return undefined;",
      },
    ],
  },
];
