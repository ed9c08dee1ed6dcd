// Checks the profiles of a venue against its adapters and roots.

import { attempt } from "../../core/io.js";
import { parsePath } from "../../path/grammar.js";
import type { Draft, DraftVenue, ProfileConfig } from "../types.js";
import { type Place, placeBelow, report } from "./check-schema.js";

/** Names of built-in adapters, which profiles must not use. */
const ADAPTERS: ReadonlySet<string> = new Set(["file", "ucan", "auth", "audit", "dlfs", "drive", "archive"]);
const ONLY_EVERRUNS = ["alias", "variant", "onStale"] as const;

/**
 * Checks profiles beyond the schema: names against those of adapters and roots, and prefixes.
 * @param roots names of all roots; `undefined` if unknown because of problems
 */
export function checkProfiles(
  venue: Place,
  { profiles, file }: DraftVenue,
  roots: readonly string[] | undefined,
): void {
  const keeping = Object.entries(file?.roots ?? {}).filter(([, root]) => root !== undefined && keepsDeleted(root));
  for (const [name, profile] of Object.entries(profiles ?? {})) {
    const place = placeBelow(venue, "profiles", name);
    if (ADAPTERS.has(name)) report(place, "must not be the name of an adapter");
    if (profile === undefined) continue;
    checkProfile(place, profile, roots);
    const [kept] = keeping;
    if (profile.shell?.unsafe !== true || kept === undefined) continue;
    const what = `root '${kept[0]}' has trash: "required"`;
    report(placeBelow(place, "shell", "unsafe"), `must be false: its commands could empty the trash, and ${what}`);
  }
}

const keepsDeleted = (root: object | string): boolean =>
  typeof root === "object" && "trash" in root && root.trash === "required";

function checkProfile(place: Place, given: Draft<ProfileConfig>, roots: readonly string[] | undefined): void {
  const { profile, root, prefix } = given;
  if (root !== undefined && roots?.includes(root) === false) {
    report(placeBelow(place, "root"), `names a root that does not exist: ${root}`);
  }
  if (prefix !== undefined && canonicalPrefix(prefix) === undefined) {
    report(placeBelow(place, "prefix"), "must be a path of a directory below the root, such as sessions/1");
  }
  if (given.snapshot === true && given.shell === undefined) {
    report(placeBelow(place, "snapshot"), "needs a shell: without one there are no commands");
  }
  if (profile === "everruns" && given.onStale === "rebase" && given.variant !== "0.50") {
    report(placeBelow(place, "onStale"), 'must be "reject", or variant "0.50"');
  }
  for (const key of ONLY_EVERRUNS) {
    if (profile === "jettson" && Object.hasOwn(given, key)) report(placeBelow(place, key), "is only for everruns");
  }
}

/** The canonical form of a prefix; `undefined` if it is invalid. */
export function canonicalPrefix(prefix: string): string | undefined {
  return prefix.split("/").includes("..") ? undefined : attempt(() => parsePath("", prefix).text) || undefined;
}
