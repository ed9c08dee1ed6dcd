// The session of this tab: its token, how it came here, and how it goes. No cookie is set or read.

import { signal } from "@preact/signals";
import { texts } from "../texts.js";
import { base } from "./base.js";
import { read } from "./call.js";
import { loadCatalogue, who } from "./catalogue.js";
import { ApiError } from "./errors.js";
import { loadFeatures } from "./features.js";
import { denials, refused, request, token } from "./http.js";
import type { IssuedToken } from "./operations.js";

export type SessionState = "starting" | "signed out" | "ready";

export const session = signal<SessionState>("starting");
/** Why signing in failed, for people. */
export const signInProblem = signal("");

const KEY = `venue-files:${base}`;
/** How long the other tabs have to answer, in milliseconds. */
const SIBLING_MS = 150;
/** How long the venue has to end a session, in milliseconds. */
const SIGN_OUT_MS = 30_000;
const channel = new BroadcastChannel(KEY);

/** Tabs of this page lend each other the token; it never leaves the browser. */
channel.onmessage = ({ data }: MessageEvent<{ readonly ask?: true; readonly left?: string }>) => {
  if (data.ask === true && token.value !== undefined) channel.postMessage({ token: token.value });
  if (data.left === undefined || token.value === undefined) return;
  // A tab with a session of its own ends that.
  if (data.left === token.value) forget();
  else signOut(false);
};

/** Begins: by the code in the fragment, the token of the tab or of another one, or without any. */
export async function begin(): Promise<void> {
  const code = takeCode();
  if (code !== undefined) {
    await signInByCode(code);
    return;
  }
  token.value = sessionStorage.getItem(KEY) ?? (await askSiblings());
  await enter();
}

/** The code leaves the address before anything else is requested. */
function takeCode(): string | undefined {
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return code;
}

function askSiblings(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const answers = new BroadcastChannel(KEY);
    const done = (found?: string) => {
      answers.close();
      resolve(found);
    };
    answers.onmessage = ({ data }: MessageEvent<{ readonly token?: string }>) => {
      if (typeof data.token === "string") done(data.token);
    };
    setTimeout(done, SIBLING_MS);
    answers.postMessage({ ask: true });
  });
}

async function signInByCode(code: string): Promise<void> {
  try {
    const body = JSON.stringify({ code });
    const headers = { "content-type": "application/json" };
    const response = await request("/api/v1/login", { method: "POST", body, headers, isImpatient: true });
    const issued = (await response.json()) as IssuedToken;
    await signIn(issued.token ?? "");
  } catch (error) {
    signInProblem.value = error instanceof Error ? error.message : String(error);
    await enter();
  }
}

/** Signs in by a bearer token. @returns whether it was taken */
export async function signIn(given: string): Promise<boolean> {
  const before = { token: token.value, did: who.value?.did };
  token.value = given.trim();
  signInProblem.value = "";
  const isIn = await enter();
  if (!isIn) {
    token.value = before.token;
    return false;
  }
  sessionStorage.setItem(KEY, given.trim());
  return true;
}

/** Asks who this is, and what there is. @returns whether the venue takes the token */
async function enter(): Promise<boolean> {
  try {
    const [me] = await Promise.all([read("auth:whoami", {}), loadCatalogue()]);
    void loadFeatures().catch(() => {});
    who.value = me;
    refused.value = false;
    session.value = "ready";
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401)
      signInProblem.value ||= token.value === undefined ? "" : error.message;
    else signInProblem.value ||= error instanceof Error ? error.message : String(error);
    if (who.value === undefined) session.value = "signed out";
    return false;
  }
}

/** After a denial the page asks what is held by now, and offers no more than that. */
denials.subscribe((many) => {
  if (many === 0 || session.value !== "ready") return;
  const { did } = who.value ?? {};
  read("auth:whoami", {}).then(
    (me) => {
      if (me.did === did && who.value?.did === did) who.value = me;
    },
    () => {},
  );
});

/** Ends the session at the venue and in this tab; with `everywhere` in all tabs of the page. */
export function signOut(everywhere = true): void {
  const [given, me] = [token.value, who.value];
  if (everywhere) channel.postMessage({ left: given });
  forget();
  // Only a session is ended: other tokens were given to the user, and work elsewhere too.
  if (given !== undefined && me?.authentication === "session" && me.via !== undefined) void endSession(me.via, given);
}

/** Ends the session. Tokens made by it stay valid. */
async function endSession(id: string, given: string): Promise<void> {
  const body = JSON.stringify({ operation: "auth:revoke", input: { id, keep: true }, private: true });
  const headers = { "content-type": "application/json", authorization: `Bearer ${given}` };
  try {
    const signal = AbortSignal.timeout(SIGN_OUT_MS);
    await request("/api/v1/run", { method: "POST", body, headers, signal, outlives: true });
  } catch (error) {
    const hasEnded = error instanceof ApiError && error.status === 401;
    if (!hasEnded) signInProblem.value = texts.notSignedOut(error instanceof Error ? error.message : String(error), id);
  }
}

function forget(): void {
  sessionStorage.removeItem(KEY);
  token.value = undefined;
  who.value = undefined;
  refused.value = false;
  session.value = "signed out";
}
