// Text that is not saved yet, kept by the browser until it is saved, discarded, its owner signs out, or 7 days pass.

import { keepsDrafts } from "../api/base.js";

export interface Draft {
  /** DID of the owner; no other caller sees the draft. */
  readonly did: string;
  readonly root: string;
  readonly path: string;
  readonly text: string;
  /** The text that editing began with, and its version. */
  readonly base: string;
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

const STORE = "drafts";
const LONGEST_MS = 7 * 24 * 60 * 60 * 1000;
const memory = new Map<string, Draft>();
let opening: Promise<IDBDatabase | undefined> | undefined;

const keyOf = ({ did, root, path }: Pick<Draft, "did" | "root" | "path">): string => JSON.stringify([did, root, path]);

/** `undefined` where drafts stay in memory: by configuration, or since the browser has no storage for this page. */
function database(): Promise<IDBDatabase | undefined> {
  opening ??= new Promise((resolve) => {
    if (!keepsDrafts) {
      resolve(undefined);
      return;
    }
    const opened = indexedDB.open("venue-files", 1);
    opened.onupgradeneeded = () => opened.result.createObjectStore(STORE);
    opened.onsuccess = () => resolve(opened.result);
    opened.onerror = () => resolve(undefined);
  });
  return opening;
}

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  const db = await database();
  if (db === undefined) return undefined;
  return new Promise((resolve) => {
    const asked = act(db.transaction(STORE, mode).objectStore(STORE));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => resolve(undefined);
  });
}

export async function keepDraft(draft: Draft): Promise<void> {
  memory.set(keyOf(draft), draft);
  await run("readwrite", (store) => store.put(draft, keyOf(draft)));
}

export async function findDraft(place: Pick<Draft, "did" | "root" | "path">): Promise<Draft | undefined> {
  const found =
    memory.get(keyOf(place)) ?? ((await run("readonly", (store) => store.get(keyOf(place)))) as Draft | undefined);
  return found !== undefined && Date.now() - found.time < LONGEST_MS ? found : undefined;
}

export async function dropDraft(place: Pick<Draft, "did" | "root" | "path">): Promise<void> {
  memory.delete(keyOf(place));
  await run("readwrite", (store) => store.delete(keyOf(place)));
}

/** Removes the drafts of one caller, and all that are too old. */
export async function dropDraftsOf(did: string): Promise<void> {
  const all = ((await run("readonly", (store) => store.getAll())) ?? []) as readonly Draft[];
  const gone = [...memory.values(), ...all].filter(
    (draft) => draft.did === did || Date.now() - draft.time >= LONGEST_MS,
  );
  for (const draft of gone) await dropDraft(draft);
}
