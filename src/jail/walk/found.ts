import type { Pinned } from "../handles.js";

/** Where a walk ended. `real` is where the request really leads, as far as the walk could tell. */
export type Found = { readonly real: readonly string[] } & (
  | {
      /** The target exists and is this object; the last link, if any, has been resolved. */
      readonly state: "found";
      readonly object: Pinned;
    }
  | {
      /** Nothing has the name `missing[0]` in the walk's deepest directory. The rest was not looked at. */
      readonly state: "missing";
      readonly missing: readonly string[];
    }
  | {
      /** A file stands where a directory is needed; `prefix` is how many requested segments lead to it. */
      readonly state: "blocked";
      readonly prefix: number;
    }
  | {
      /** A link leads to nothing inside the root. */
      readonly state: "dangling";
    }
);
