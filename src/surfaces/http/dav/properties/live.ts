// Live properties: what the venue itself knows of a resource.

import type { Found } from "../call.js";
import type { Target } from "../target.js";
import { type Content, element, type Markup } from "../xml/write.js";

/** A file or collection that is described. */
export interface Resource {
  readonly place: Pick<Target, "space" | "root" | "segments">;
  readonly isCollection: boolean;
  /** Absent: a collection of roots, which has nothing but its name. */
  readonly found?: Found;
}

type Value = (resource: Resource) => Content | undefined;

const ofFile =
  (value: (found: Found) => Content | undefined): Value =>
  ({ found, isCollection }) =>
    isCollection || found === undefined ? undefined : value(found);

/** By local name in `DAV:`, in the order in which `allprop` answers. `undefined`: the resource does not have it. */
const VALUES: Readonly<Record<string, Value>> = {
  displayname: ({ place }) => place.segments.at(-1) ?? place.root ?? (place.space === "top" ? "" : place.space),
  resourcetype: ({ isCollection }) => (isCollection ? element("D:collection") : ""),
  getcontentlength: ofFile(({ size }) => `${size}`),
  getcontenttype: ofFile(({ mime }) => mime ?? "application/octet-stream"),
  getetag: ofFile(({ hash }) => (hash === undefined ? undefined : `"${hash}"`)),
  getlastmodified: ({ found }) => (found === undefined ? undefined : new Date(found.modified).toUTCString()),
  creationdate: ({ found }) =>
    found?.created === undefined ? undefined : new Date(found.created).toISOString().replace(/\.\d+Z$/, "Z"),
};

export const LIVE_NAMES: readonly string[] = Object.keys(VALUES);

/** The value of a live property. `undefined`: there is none of that name. */
export function liveValue(local: string, resource: Resource): Content | undefined {
  return Object.hasOwn(VALUES, local) ? VALUES[local]?.(resource) : undefined;
}

/** A live property as an element. */
export function liveProperty(local: string, resource: Resource): Markup | undefined {
  const value = liveValue(local, resource);
  return value === undefined ? undefined : element(`D:${local}`, value);
}
