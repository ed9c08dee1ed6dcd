// Live properties: what the venue itself knows of a resource.

import type { DavCall, Found } from "../call.js";
import { entityTagOf } from "../entity-tag.js";
import type { Target } from "../target.js";
import { type Content, element, type Markup } from "../xml/write.js";
import { lockDiscovery, SUPPORTED_LOCKS } from "./lock-properties.js";

/** A file or collection that is described. */
export interface Resource {
  readonly place: Pick<Target, "space" | "root" | "segments">;
  readonly isCollection: boolean;
  /** Absent: a collection of roots, which has nothing but its name. */
  readonly found?: Found;
  /** Bytes in its root or drive, where there is a limit and it was asked for. */
  readonly quota?: Quota;
}

/** Bytes that are used, and may be. */
export interface Quota {
  readonly used: number;
  readonly limit: number;
}

type Value = (resource: Resource, call: DavCall) => Content | undefined;

const ofFile =
  (value: (found: Found) => Content | undefined): Value =>
  ({ found, isCollection }) =>
    isCollection || found === undefined ? undefined : value(found);

/** Locks are there only where something can be changed. */
const ofLockable =
  (value: Value): Value =>
  (resource, call) => {
    const { space, root } = resource.place;
    return root === undefined || call.isReadOnly({ space, root }) ? undefined : value(resource, call);
  };

const COLLECTION = element("D:collection");

/** By local name in `DAV:`, in the order in which `allprop` answers. `undefined`: the resource does not have it. */
const VALUES: ReadonlyMap<string, Value> = new Map(
  Object.entries<Value>({
    displayname: ({ place }) => place.segments.at(-1) ?? place.root ?? (place.space === "top" ? "" : place.space),
    resourcetype: ({ isCollection }) => (isCollection ? COLLECTION : ""),
    getcontentlength: ofFile(({ size }) => `${size}`),
    getcontenttype: ofFile(({ mime }) => mime ?? "application/octet-stream"),
    getetag: ofFile(({ hash }) => (hash === undefined ? undefined : entityTagOf(hash))),
    getlastmodified: ({ found }) => (found === undefined ? undefined : new Date(found.modified).toUTCString()),
    creationdate: ({ found }) =>
      found?.created === undefined ? undefined : new Date(found.created).toISOString().replace(/\.\d+Z$/, "Z"),
    lockdiscovery: ofLockable(({ place }, call) => lockDiscovery(call.locks.covering(call.spotOf(place)), call)),
    supportedlock: ofLockable(() => SUPPORTED_LOCKS),
  }),
);

/** Properties that come only when they are named, since they cost more. */
const QUOTA_VALUES: Readonly<Record<string, (quota: Quota) => number>> = {
  "quota-used-bytes": ({ used }) => used,
  "quota-available-bytes": ({ used, limit }) => Math.max(0, limit - used),
};

export const LIVE_NAMES: readonly string[] = [...VALUES.keys()];
export const QUOTA_NAMES: readonly string[] = Object.keys(QUOTA_VALUES);

/** Whether the venue itself has the property, so that nobody can store one of that name. */
export const isLive = (local: string): boolean => LIVE_NAMES.includes(local) || QUOTA_NAMES.includes(local);

/** A live property as an element. `undefined`: the resource has none of that name. */
export function liveProperty(local: string, resource: Resource, call: DavCall): Markup | undefined {
  const value = VALUES.get(local)?.(resource, call) ?? quotaValue(local, resource);
  return value === undefined ? undefined : element(`D:${local}`, value);
}

function quotaValue(local: string, { quota }: Resource): string | undefined {
  const value = Object.hasOwn(QUOTA_VALUES, local) ? QUOTA_VALUES[local] : undefined;
  return quota === undefined || value === undefined ? undefined : `${value(quota)}`;
}
