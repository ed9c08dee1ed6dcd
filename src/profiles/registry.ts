import { everruns } from "./everruns/everruns.js";
import { jettson } from "./jettson/jettson.js";
import type { Profile } from "./profile.js";

/** All profiles by name. */
export const PROFILES: ReadonlyMap<string, Profile> = new Map(
  [jettson, everruns].map((profile) => [profile.name, profile]),
);
