// Properties a PROPFIND asks for, and the DAV:response of a resource: its URL, those properties, and which of them it does not have.

import { badRequest } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { childrenOf, isNamed, type XmlElement } from "../xml/read.js";
import { clark, DAV, element, fromClark, namedElement, type XmlName } from "../xml/write.js";
import { CHECKSUMS, OWNCLOUD } from "./checksums.js";
import { type Properties as Dead, NONE } from "./dead.js";
import { LIVE, type LiveProperty, livePropertyOf, type Resource } from "./live.js";

/** `names`: all names, without values. `all`: all properties, and some that only come when they are named. */
export type PropertyRequest =
  | { readonly kind: "named"; readonly names: readonly XmlName[] }
  | { readonly kind: "all"; readonly include: readonly XmlName[] }
  | { readonly kind: "names" };

/** @param body absent: all properties @throws HttpError 400 */
export function propertyRequest(body: XmlElement | undefined): PropertyRequest {
  if (body === undefined) return { kind: "all", include: [] };
  if (!isNamed(body, DAV, "propfind")) throw badRequest("The body must be a DAV:propfind");
  const [prop, allprop, propname, include] = ["prop", "allprop", "propname", "include"].map((local) =>
    childrenOf(body).filter((child) => isNamed(child, DAV, local)),
  );
  const counts = [prop, allprop, propname].map((found) => found?.length ?? 0);
  if (counts.reduce((sum, count) => sum + count) !== 1) {
    throw badRequest("DAV:propfind must hold exactly one of DAV:prop, DAV:allprop and DAV:propname");
  }
  if (propname?.length === 1) return { kind: "names" };
  if (allprop?.length === 1) return { kind: "all", include: namesIn(include?.[0]) };
  return { kind: "named", names: namesIn(prop?.[0]) };
}

/** Names of the elements in another, each once. */
function namesIn(parent: XmlElement | undefined): XmlName[] {
  const names = new Map<string, XmlName>();
  for (const { namespace, local } of parent === undefined ? [] : childrenOf(parent)) {
    names.set(clark({ namespace, local }), { namespace, local });
  }
  return [...names.values()];
}

/** Elements of properties, as XML. `missing` are the names of those that the resource does not have. */
interface Properties {
  readonly found: string;
  readonly missing: string;
}

const [FOUND, MISSING] = ["200 OK", "404 Not Found"].map(
  (status) => `</D:prop>${element("D:status", `HTTP/1.1 ${status}`).text}</D:propstat>`,
);

/** A writer of the responses to one request. Parts that all its resources share are made once. */
export function responseWriter(call: DavCall, request: PropertyRequest): (resource: Resource) => string {
  const properties = propertiesFor(call, request);
  return (resource) => {
    const { place, isCollection, href } = resource;
    const dead = place.root === undefined ? NONE : call.properties.of(call.spotOf(place), isCollection);
    const { found, missing } = properties(resource, dead);
    // The URL has no character that XML would have to escape.
    let text = `<D:response><D:href>${href}</D:href>`;
    if (found !== "" || missing === "") text += `<D:propstat><D:prop>${found}${FOUND}`;
    if (missing !== "") text += `<D:propstat><D:prop>${missing}${MISSING}`;
    return `${text}</D:response>\n`;
  };
}

function propertiesFor(call: DavCall, request: PropertyRequest): (resource: Resource, dead: Dead) => Properties {
  if (request.kind === "names") return (resource, dead) => ({ found: namesOf(resource, dead, call), missing: "" });
  if (request.kind === "named") {
    const asked = request.names.map(askedFor);
    return (resource, dead) => named(asked, resource, dead, call);
  }
  const asked = request.include.map(askedFor);
  return (resource, dead) => {
    let found = "";
    for (const write of LIVE.values()) found += write(resource, call) ?? "";
    for (const xml of dead.values()) found += xml;
    if (asked.length === 0) return { found, missing: "" };
    const isNew = ({ key, live }: Asked): boolean =>
      !dead.has(key) && (live?.isInAll !== true || live.write(resource, call) === undefined);
    const more = named(asked.filter(isNew), resource, dead, call);
    return { found: found + more.found, missing: more.missing };
  };
}

const checksumsOf: LiveProperty = ({ found }, call) => call.checksums.of(found?.tag)?.text;

/** A property that a request names. */
interface Asked {
  /** Name in Clark notation. */
  readonly key: string;
  /** Its name as an element. */
  readonly name: string;
  /** Absent: the venue itself has no such property. */
  readonly live?: { readonly write: LiveProperty; readonly isInAll: boolean };
}

function askedFor(name: XmlName): Asked {
  const own = name.namespace === OWNCLOUD && name.local === CHECKSUMS ? checksumsOf : undefined;
  const write = name.namespace === DAV ? livePropertyOf(name.local) : own;
  const live = write === undefined ? {} : { live: { write, isInAll: own === undefined && LIVE.has(name.local) } };
  return { key: clark(name), name: namedElement(name).text, ...live };
}

function named(asked: readonly Asked[], resource: Resource, dead: Dead, call: DavCall): Properties {
  let [found, missing] = ["", ""];
  for (const { key, name, live } of asked) {
    const value = dead.get(key) ?? live?.write(resource, call);
    if (value === undefined) missing += name;
    else found += value;
  }
  return { found, missing };
}

function namesOf(resource: Resource, dead: Dead, call: DavCall): string {
  const live = [...LIVE].flatMap(([local, write]) => (write(resource, call) === undefined ? [] : local));
  const names = [...live.map((local) => ({ namespace: DAV, local })), ...[...dead.keys()].map(fromClark)];
  return names.map((name) => namedElement(name).text).join("");
}
