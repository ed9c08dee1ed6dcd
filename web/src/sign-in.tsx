// Signing in: by a link, or by a pasted token. Also over the page, in the middle of the work.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { venueName } from "./api/catalogue.js";
import { session, signIn, signInProblem } from "./api/session.js";
import { texts } from "./texts.js";
import { Dialog, Dialogs, showDialog } from "./ui/dialog.js";
import { plain } from "./ui/format.js";

/** The sign-in page, or a dialog over the page when the venue refused the token. */
export function SignIn({ isOver = false }: { readonly isOver?: boolean }): JSX.Element {
  if (isOver) {
    return (
      <Dialog title={texts.signIn} onClose={() => {}}>
        <p>{texts.refusedHint}</p>
        <SignInForm onDone={() => {}} />
      </Dialog>
    );
  }
  return (
    <>
      <main class="sign-in" id="main">
        <h1>{venueName.value === "" ? texts.signInTitle : plain(venueName.value)}</h1>
        <p>{texts.signInLead}</p>
        <form onSubmit={(event) => event.preventDefault()}>
          <SignInForm onDone={() => {}} />
        </form>
        <p class="hint">{texts.linkHint}</p>
        <pre>
          <code>venue-files link</code>
        </pre>
      </main>
      <Dialogs />
    </>
  );
}

/** Signs in, or switches to another caller. */
export function signInOver(): void {
  void showDialog<void>((close) => (
    <Dialog title={texts.signIn} onClose={() => close()}>
      <p>{texts.signInLead}</p>
      <SignInForm onDone={() => close()} />
    </Dialog>
  ));
}

function SignInForm({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const [token, setToken] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    if (token.trim() === "" || isBusy) return;
    setBusy(true);
    const isIn = await signIn(token);
    setBusy(false);
    if (isIn) onDone();
  };
  const problem = signInProblem.value;
  return (
    <div class="fields">
      <label>
        {texts.token}
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          data-autofocus
          value={token}
          aria-describedby="token-hint"
          aria-invalid={problem !== ""}
          onInput={(event) => setToken(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            void submit();
          }}
        />
      </label>
      <p id="token-hint" class="hint">
        {texts.tokenHint}
      </p>
      <p role="alert" class="problem">
        {plain(problem)}
      </p>
      <button
        type="button"
        class="primary"
        disabled={isBusy || session.value === "starting"}
        onClick={() => void submit()}
      >
        {texts.signIn}
      </button>
    </div>
  );
}
