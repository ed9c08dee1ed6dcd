// The places beside Files, and the operations without which each is not shown.

import type { JSX } from "preact";

interface PlaceOf {
  /** Shown when the catalogue has one of these. */
  readonly needs: readonly string[];
  readonly Content: () => JSX.Element;
}

export const places: Readonly<Record<string, PlaceOf>> = {};
