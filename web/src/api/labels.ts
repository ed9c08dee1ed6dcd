// Names that people know: labels of access tokens by their ids, in place of DIDs.

import { signal } from "@preact/signals";
import { texts } from "../texts.js";
import { plain, shortDid } from "../ui/format.js";
import { read } from "./call.js";
import { offers, who } from "./catalogue.js";

const labels = signal<ReadonlyMap<string, string>>(new Map());
const MOST = 1000;

/** Asks for the labels of what the caller may see. */
export async function loadLabels(): Promise<void> {
  if (!offers("auth:list")) return;
  const page = await read("auth:list", { limit: MOST }).catch(() => undefined);
  const named = (page?.entries ?? []).flatMap(({ id, label }) =>
    id === undefined || label === undefined ? [] : [[id, label] as const],
  );
  labels.value = new Map(named);
}

/** The label of a credential, if there is one. */
export const labelOf = (via: string | undefined): string | undefined =>
  via === undefined ? undefined : labels.value.get(via);

/** Who somebody is, for people. @param via id of the credential of the call */
export function personOf(did: string, via?: string): string {
  const label = labelOf(via) ?? labels.value.get(/:access:([0-9a-f]+)$/.exec(did)?.[1] ?? "");
  if (label !== undefined) return plain(label);
  return did === "operator" || did === who.value?.venue ? texts.operator : shortDid(did);
}
