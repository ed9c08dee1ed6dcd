// Live properties: what the venue itself knows of a resource.

import { davTag } from "../../plumbing/entity-tags.js";
import type { DavCall, Found } from "../call.js";
import type { Lock, Named } from "../locks/locks.js";
import { element, escapeXml, Markup, textOf } from "../xml/write.js";

/** A file or collection that is described. */
export interface Resource {
  readonly place: Named;
  /** Its URL, without scheme and host. */
  readonly href: string;
  readonly isCollection: boolean;
  /** Absent: a collection of roots, which has nothing but its name. */
  readonly found?: Found;
  /** Bytes in its root or drive, where there is a limit and it was asked for. */
  readonly quota?: Quota | undefined;
}

/** Bytes that are used, and may be. */
export interface Quota {
  readonly used: number;
  readonly limit: number;
}

/** A property of a resource as an element, or the content of that. `undefined`: the resource does not have it. */
export type LiveProperty = (resource: Resource, call: DavCall) => string | undefined;
type Value = LiveProperty;

const ofFile =
  (value: (found: Found) => string | undefined): Value =>
  ({ found, isCollection }) =>
    isCollection || found === undefined ? undefined : value(found);

/** Locks are there only where something can be changed. */
const ofLockable =
  (value: Value): Value =>
  (resource, call) => {
    const { place } = resource;
    return place.root === undefined || call.isReadOnly(place) ? undefined : value(resource, call);
  };

const escaped = (text: string | undefined): string | undefined => text && escapeXml(text);

const COLLECTION = element("D:collection").text;

/** A property as an element, with its tags made once: listings write it for each of thousands of entries. */
function written(local: string, value: Value): LiveProperty {
  const [empty, start, end] = [element(`D:${local}`).text, `<D:${local}>`, `</D:${local}>`];
  return (resource, call) => {
    const content = value(resource, call);
    if (content === undefined) return undefined;
    return content === "" ? empty : start + content + end;
  };
}

const propertiesIn = (values: Readonly<Record<string, Value>>): ReadonlyMap<string, LiveProperty> =>
  new Map(Object.entries(values).map(([local, value]) => [local, written(local, value)]));

const WRITE = element("D:locktype", element("D:write"));

const scopeOf = (isExclusive: boolean): Markup =>
  element("D:lockscope", element(isExclusive ? "D:exclusive" : "D:shared"));

/** Content of `DAV:supportedlock`. */
const SUPPORTED_LOCKS: Markup = Markup.trusted(
  textOf([true, false].map((isExclusive) => element("D:lockentry", [scopeOf(isExclusive), WRITE]))),
);

/** Content of `DAV:lockdiscovery`. Tokens are shown to those alone who took the locks. */
export function lockDiscovery(active: readonly Lock[], call: DavCall): Markup[] {
  const { caller, locks } = call;
  return active.map((lock) =>
    element("D:activelock", [
      WRITE,
      scopeOf(lock.isExclusive),
      element("D:depth", lock.isDeep ? "infinity" : "0"),
      ...(lock.owner.text === "" ? [] : [element("D:owner", lock.owner)]),
      element("D:timeout", `Second-${locks.secondsLeft(lock)}`),
      ...(lock.caller === caller.did ? [element("D:locktoken", element("D:href", lock.token))] : []),
      element("D:lockroot", element("D:href", call.hrefOf(lock.place, lock.isCollection))),
    ]),
  );
}

/** By local name in `DAV:`, in the order in which `allprop` answers. */
export const LIVE: ReadonlyMap<string, LiveProperty> = propertiesIn({
  displayname: ({ place }) =>
    escapeXml(place.segments.at(-1) ?? place.root ?? (place.space === "top" ? "" : place.space)),
  resourcetype: ({ isCollection }) => (isCollection ? COLLECTION : ""),
  getcontentlength: ofFile(({ size }) => `${size}`),
  getcontenttype: ofFile(({ mime }) => escapeXml(mime ?? "application/octet-stream")),
  getetag: ofFile(({ tag, hash }) => escaped(davTag({ tag, sha256: hash?.slice("sha256:".length) }))),
  getlastmodified: ({ found }) => found && new Date(Math.floor(found.modified)).toUTCString(),
  creationdate: ({ found }) =>
    found?.created === undefined ? undefined : new Date(found.created).toISOString().replace(/\.\d+Z$/, "Z"),
  lockdiscovery: ofLockable(({ place }, call) => textOf(lockDiscovery(call.locks.covering(call.spotOf(place)), call))),
  supportedlock: ofLockable(() => SUPPORTED_LOCKS.text),
});

/** Properties that come only when they are named, since they cost more. */
const QUOTA: ReadonlyMap<string, LiveProperty> = propertiesIn({
  "quota-used-bytes": ({ quota }) => (quota === undefined ? undefined : `${quota.used}`),
  "quota-available-bytes": ({ quota }) =>
    quota === undefined ? undefined : `${Math.max(0, quota.limit - quota.used)}`,
});

export const QUOTA_NAMES: readonly string[] = [...QUOTA.keys()];

/** The property of a local name in `DAV:` that the venue itself has, so that nobody can store one of that name. */
export const livePropertyOf = (local: string): LiveProperty | undefined => LIVE.get(local) ?? QUOTA.get(local);
