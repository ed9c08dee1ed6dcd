// Live properties: what the venue itself knows of a resource.

import { davTag } from "../../plumbing/entity-tags.js";
import type { DavCall, Found } from "../call.js";
import type { Target } from "../target.js";
import { element, escapeXml, textOf } from "../xml/write.js";
import { lockDiscovery, SUPPORTED_LOCKS } from "./lock-properties.js";

/** A file or collection that is described. */
export interface Resource {
  readonly place: Pick<Target, "space" | "root" | "segments">;
  /** Its URL, without scheme and host. */
  readonly href: string;
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

/** Writes a property of a resource as an element. `undefined`: the resource does not have it. */
export type LiveProperty = (resource: Resource, call: DavCall) => string | undefined;

/** Content of a property as XML. `undefined`: the resource does not have it. */
type Value = (resource: Resource, call: DavCall) => string | undefined;

const ofFile =
  (value: (found: Found) => string | undefined): Value =>
  ({ found, isCollection }) =>
    isCollection || found === undefined ? undefined : value(found);

/** Locks are there only where something can be changed. */
const ofLockable =
  (value: Value): Value =>
  (resource, call) => {
    const { space, root } = resource.place;
    return root === undefined || call.isReadOnly({ space, root }) ? undefined : value(resource, call);
  };

const DAY_MS = 86_400_000;
const two = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"));
let lastDay = { day: Number.NaN, text: "" };

/** A time as an IMF-fixdate. Listings write thousands, mostly of few days: the day is formatted once. */
export function httpDate(ms: number): string {
  const day = Math.floor(ms / DAY_MS);
  if (lastDay.day !== day)
    lastDay = { day, text: new Date(day * DAY_MS).toUTCString().slice(0, -"00:00:00 GMT".length) };
  const seconds = Math.floor((ms - day * DAY_MS) / 1000);
  const [hour, minute] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${lastDay.text}${two[hour]}:${two[minute]}:${two[seconds % 60]} GMT`;
}

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

/** By local name in `DAV:`, in the order in which `allprop` answers. */
export const LIVE: ReadonlyMap<string, LiveProperty> = propertiesIn({
  displayname: ({ place }) =>
    escapeXml(place.segments.at(-1) ?? place.root ?? (place.space === "top" ? "" : place.space)),
  resourcetype: ({ isCollection }) => (isCollection ? COLLECTION : ""),
  getcontentlength: ofFile(({ size }) => `${size}`),
  getcontenttype: ofFile(({ mime }) => escapeXml(mime ?? "application/octet-stream")),
  getetag: ofFile(({ tag, hash }) => escaped(davTag({ tag, sha256: hash?.slice("sha256:".length) }))),
  getlastmodified: ({ found }) => (found === undefined ? undefined : httpDate(found.modified)),
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
