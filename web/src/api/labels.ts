// Names that people know, in place of DIDs and ids: each holder has one name, wherever it stands.

import { computed, signal } from "@preact/signals";
import { texts } from "../texts.js";
import { plain, shortDid } from "../ui/format.js";
import { read } from "./call.js";
import { isAnonymous, offers, who } from "./catalogue.js";
import { follow } from "./events.js";
import type { AccessEntry } from "./operations.js";

const entries = signal<readonly AccessEntry[]>([]);
const byId = computed(
  () => new Map(entries.value.flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry]]))),
);
/** Sessions have the DID of their makers. */
const names = computed(
  () =>
    new Map(
      entries.value.flatMap(({ kind, did, label }) =>
        did === undefined || label === undefined || kind === "session"
          ? []
          : [[did, kind === "owner" && label === "operator" ? texts.operator : plain(label)]],
      ),
    ),
);
const MOST = 1000;

/** Asks for the labels of what the caller may see, and again when there are others. @returns what ends it */
export function followLabels(): () => void {
  if (!offers("auth:list") || isAnonymous.value) return () => {};
  void loadLabels();
  return follow(["auth"], () => void loadLabels());
}

async function loadLabels(): Promise<void> {
  const page = await read("auth:list", { limit: MOST }).catch(() => undefined);
  if (page !== undefined) entries.value = page.entries;
}

/** The access token, session or UCAN that a call came by, as far as the caller may see it. */
export const credentialOf = (via: string | undefined): AccessEntry | undefined =>
  via === undefined ? undefined : (byId.value.get(via) as AccessEntry | undefined);

/** The name of a caller, for people. */
export function personOf(did: string): string {
  const me = who.value;
  if (did === "operator" || did === me?.venue || (me?.operator === true && did === me.did)) return texts.operator;
  return names.value.get(did) ?? nameIn(did);
}

/** The venue makes up the DIDs of its static tokens, and of everybody. */
function nameIn(did: string): string {
  const [, kind, name] = /:(token|public)(?::(.+))?$/.exec(did) ?? [];
  if (kind === "public") return texts.kinds["public"] ?? "";
  return name === undefined ? shortDid(did) : plain(name);
}
