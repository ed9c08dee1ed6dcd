// Checks the deny and protect patterns of roots.

import { fieldsOf } from "../../core/unknown.js";
import { compileDeny } from "../../path/deny.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/** Checks that the deny and protect patterns of roots are valid globs or sets. @param roots possibly incomplete */
export function checkDeny(file: Place, roots: Readonly<Record<string, unknown>> | undefined): void {
  for (const [name, root] of Object.entries(roots ?? {})) {
    for (const option of ["deny", "protect"] as const) {
      const patterns: unknown = fieldsOf(root)[option];
      for (const [index, pattern] of (Array.isArray(patterns) ? patterns : []).entries()) {
        if (typeof pattern !== "string") continue;
        const fault = faultOf(pattern);
        if (fault === undefined) continue;
        const place = ["roots", name, option, index].reduce<Place>(placeBelow, file);
        file.check.problems.push(`${quotedPath(place)} must be a glob: ${fault}`);
      }
    }
  }
}

function faultOf(pattern: string): string | undefined {
  try {
    compileDeny([pattern], { foldsCase: true });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "it does not compile";
  }
}
