/** The whole page: signs in, then shows the view that the address names, within the shell. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError, isSignedIn, session } from "./data/api.ts";
import { clockText } from "./data/clock-text.ts";
import { PATIENCE_MS } from "./data/link.ts";
import { openSession } from "./data/session.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { Shell } from "./shell.tsx";

/** What is wrong with the gateway or the link, in words. */
const problem = signal<string | null>(null);

async function open(): Promise<void> {
  const askedMs = Date.now();
  const late = setTimeout(() => {
    problem.value = `The gateway has not answered since ${clockText(askedMs)}.`;
  }, PATIENCE_MS);
  try {
    problem.value = await openSession();
  } catch (error) {
    problem.value = error instanceof ApiError ? error.message : String(error);
  }
  clearTimeout(late);
  // Its answer opens the page; it is asked for until it comes.
  if (session.value === null) setTimeout(() => void open(), 1_000);
}

export function App(): JSX.Element {
  useEffect(() => void open(), []);
  const view = session.value;
  if (view === null) return <Opening />;
  return isSignedIn(view) ? <Shell /> : <SignIn problem={problem.value} />;
}

function Opening(): JSX.Element {
  return (
    <div class="sign-in">
      <main>
        <h1>Holdfast</h1>
        <p class="lead" role="status">
          {problem.value === null ? "Asking the gateway …" : `${problem.value} The page opens once it answers.`}
        </p>
      </main>
    </div>
  );
}
