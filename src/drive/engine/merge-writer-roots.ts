// Reduces the roots that several writers left to one per owner.

import { describeError } from "../../core/errors/describe-error.js";
import { codeOf } from "../../core/unknown.js";
import { sameBytes, toHex } from "../cad3/ref.js";
import type { RootRecord } from "../store/cell-store.js";
import type { EngineParts } from "./owner-queue.js";
import { loadState, signedDrives } from "./state.js";

/**
 * For each owner, takes over the root that includes all others, so that roots of former writers can be removed. If none
 * includes all, the owner's next change merges them, since signing needs the key.
 *
 * @param isOpen false once the store is being closed
 */
export async function tidyRoots(parts: EngineParts, isOpen: () => boolean): Promise<void> {
  const { store, log } = parts;
  if (store.retire === undefined) return;
  for await (const owner of store.owners()) {
    if (!isOpen()) return;
    try {
      await tidyOwner(owner, parts);
    } catch (error) {
      if (codeOf(error) === "STORE_UNAVAILABLE") throw error;
      log.warn({ event: "drive.tidy", error: describeError(error) }, "The roots of an owner's drives stay apart");
    }
  }
}

async function tidyOwner(owner: string, { store, pool }: EngineParts): Promise<void> {
  const { state, release } = await loadState([owner], { store, pool }, undefined);
  try {
    const roots = state.roots.get(owner) ?? [];
    const own = roots.find(({ writer }) => writer === store.writer);
    const others = roots.filter((root) => root !== own);
    if (others.length === 0 || state.drives === undefined) return;
    const { drives } = state;
    const hasAll = ({ bytes }: RootRecord): boolean => sameBytes(signedDrives(bytes, owner), drives);
    const whole = own !== undefined && hasAll(own) ? own : roots.find(hasAll);
    if (whole === undefined) return;
    // If each writer has its own root, a single root serves as ours.
    if (roots.length === 1 && store.sharesRoots !== true) return;
    // The owner's next change brings several logs together.
    const logs = new Set(roots.flatMap(({ log }) => (log === undefined ? [] : [toHex(log)])));
    if (logs.size > 1) return;
    const kept = own?.log === undefined && whole.log !== undefined ? { log: whole.log } : {};
    const isOurs = whole === own && store.sharesRoots !== true;
    const taken = isOurs ? own : await store.swapRoot(owner, own ?? null, whole.bytes, { ...kept, includes: others });
    if (taken !== "conflict") store.retire?.(owner, others);
  } finally {
    release();
  }
}
