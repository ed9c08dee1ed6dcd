// Roots pinned by this process's readers and writers.

import type { Pin, RootRecord } from "./cell-store.js";

export interface Pins {
  add(root: RootRecord | undefined): Pin;
  /** All pinned roots. */
  roots(): RootRecord[];
}

export function createPins(): Pins {
  const held = new Set<Pin>();
  return {
    add(root) {
      const pin: Pin = { root, release: () => void held.delete(pin) };
      held.add(pin);
      return pin;
    },
    roots: () => [...held].flatMap(({ root }) => root ?? []),
  };
}
