// Detects that the venue serves another version of this page by now: its document then names other scripts.

import { signal } from "@preact/signals";
import { base } from "./base.js";
import { online } from "./http.js";

/** The venue was updated since this page was loaded. */
export const isOutdated = signal(false);

const scriptIn = (html: string): string => /assets\/(app-[\w-]+\.js)/.exec(html)?.[1] ?? "";
const own = scriptIn(document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "");
/** A page that was in the background for so long asks again, in milliseconds. */
const LONG_MS = 10 * 60 * 1000;

/** Asks the venue which page it serves. No answer says nothing. */
export async function checkVersion(): Promise<void> {
  if (isOutdated.value) return;
  const answer = await fetch(base, { cache: "no-store", credentials: "omit" }).catch(() => undefined);
  if (answer?.ok !== true) return;
  const served = scriptIn(await answer.text());
  if (served !== "" && own !== "" && served !== own) isOutdated.value = true;
}

/** An update restarts the venue, so it is asked for when it is back, and after a long time away. */
export function followVersion(): void {
  let wasOnline = online.value;
  online.subscribe((isOnline) => {
    if (isOnline && !wasOnline) void checkVersion();
    wasOnline = isOnline;
  });
  let hiddenSince = Date.now();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") hiddenSince = Date.now();
    else if (Date.now() - hiddenSince > LONG_MS) void checkVersion();
  });
}
