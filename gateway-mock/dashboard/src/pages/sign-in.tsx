/** Asks for the signing key. It goes to the gateway once and is kept nowhere. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { signIn } from "../data/session.ts";
import { BrandMark } from "../parts/brand.tsx";

const answer = signal<string | null>(null);
const isAsking = signal(false);

async function submit(event: SubmitEvent): Promise<void> {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const key = String(new FormData(form).get("key") ?? "").trim();
  if (key === "") {
    answer.value = "Enter the signing key first.";
    return;
  }
  isAsking.value = true;
  answer.value = await signIn({ key });
  isAsking.value = false;
}

export function SignIn({ problem }: { readonly problem: string | null }): JSX.Element {
  const said = answer.value ?? problem;
  return (
    <div class="sign-in">
      <main>
        <p class="brand">
          <BrandMark />
          Holdfast
        </p>
        <h1>Sign in</h1>
        <form onSubmit={(event) => void submit(event)}>
          <label>
            Signing key
            <input
              name="key"
              type="password"
              autocomplete="current-password"
              spellcheck={false}
              aria-describedby="how"
            />
          </label>
          <p id="how" class="lead">
            A key that workers of this gateway sign with: its HOLDFAST_SIGNING_KEY, or a signing key of the file that it
            was given with --keys. It is sent to the gateway once and not kept.
          </p>
          {said !== null && (
            <p class="notice bad" role="alert">
              {said}
            </p>
          )}
          <button type="submit" class="primary" disabled={isAsking.value}>
            {isAsking.value ? "Asking the gateway …" : "Sign in"}
          </button>
        </form>
      </main>
    </div>
  );
}
