// Roots pinned by this process's readers and writers.

import type { Pin, RootRecord } from "./cell-store.js";

export interface Pins {
  add(roots: readonly RootRecord[]): Pin;
  /** All pinned roots. */
  roots(): RootRecord[];
}

export function createPins(): Pins {
  const held = new Set<Pin>();
  return {
    add(roots) {
      const pin: Pin = { roots, release: () => void held.delete(pin) };
      held.add(pin);
      return pin;
    },
    roots: () => [...held].flatMap((pin) => pin.roots),
  };
}
