// The places beside Files, and the operations without which each is not shown.

import type { JSX } from "preact";
import { AccessPlace } from "./access/place.js";
import { ActivityPlace } from "./activity/place.js";
import { ChangesPlace } from "./changes/place.js";
import { StatusPlace } from "./status/place.js";

interface PlaceOf {
  /** Shown when the catalogue has one of these. */
  readonly needs: readonly string[];
  readonly Content: () => JSX.Element;
}

export const places: Readonly<Record<string, PlaceOf>> = {
  changes: { needs: ["file:history"], Content: ChangesPlace },
  activity: { needs: ["audit:query"], Content: ActivityPlace },
  access: { needs: ["auth:list"], Content: AccessPlace },
  status: { needs: ["auth:whoami"], Content: StatusPlace },
};
