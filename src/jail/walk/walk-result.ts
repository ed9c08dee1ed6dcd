// Results of a walk.

import type { Pinned } from "../handles.js";

/** Result of a walk. `real` is the real path of the request, as far as it could be resolved. */
export type Found = { readonly real: readonly string[] } & (
  | {
      /** The target exists and is pinned; a final link has been resolved if requested. */
      readonly state: "found";
      readonly object: Pinned;
    }
  | {
      /** `missing[0]` does not exist in the deepest directory of the walk; the remaining names were not looked up. */
      readonly state: "missing";
      readonly missing: readonly string[];
    }
  | {
      /** A file is in the place of a directory; `prefix` is the number of requested segments that lead to it. */
      readonly state: "blocked";
      readonly prefix: number;
    }
  | {
      /** A link leads to nothing inside the root. */
      readonly state: "dangling";
    }
);
