// Placeholders for content that is empty, loading, or failed to load.

import { Copy, LogIn } from "lucide";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isAnonymous } from "../api/catalogue.js";
import { asApiError, inWords } from "../api/errors.js";
import { texts } from "../texts.js";
import { plain } from "./format.js";
import { Icon } from "./icon.js";
import { notify } from "./notices.js";

/** Below this, a skeleton would only flicker. */
const SKELETON_MS = 150;

export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon: unknown;
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <Icon of={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Skeleton({ rows = 8 }: { readonly rows?: number }): JSX.Element | null {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), SKELETON_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!isShown) return null;
  return (
    <div class="skeleton" role="status" aria-label={texts.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} style={{ width: `${35 + ((index * 37) % 50)}%` }} />
      ))}
    </div>
  );
}

/** One place failed; the others go on. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }): JSX.Element {
  const { requestId, code } = asApiError(error);
  const { title, next } = inWords(error);
  if (code === "CAPABILITY_DENIED" && isAnonymous.value) return <SignInNeeded />;
  return (
    <div class="failure-place" role="alert">
      <h2>{plain(title)}</h2>
      {next === "" ? null : <p>{plain(next)}</p>}
      <p class="row">
        {retry === undefined ? null : (
          <button type="button" onClick={retry}>
            {texts.tryAgain}
          </button>
        )}
        {requestId === "" ? null : <CopyButton text={requestId} label={texts.copyRequestId} />}
      </p>
    </div>
  );
}

/** Shown when no user is signed in and public access is not enough. The button is above, at the edge of the page. */
function SignInNeeded(): JSX.Element {
  return (
    <Empty icon={LogIn} title={texts.signInNeeded}>
      <p>{texts.signInLead}</p>
      <p class="hint">{texts.linkHint}</p>
      <pre>
        <code>venue-files link</code>
      </pre>
    </Empty>
  );
}

/** Copies a text. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const copy = () => navigator.clipboard.writeText(text).then(() => notify(texts.copied));
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon of={Copy} />
      {label}
    </button>
  );
}
