// Properties a PROPFIND asks for.

import { badRequest } from "../../plumbing/http-error.js";
import { childrenOf, isNamed, type XmlElement } from "../xml/read.js";
import { DAV, type XmlName } from "../xml/write.js";

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
    names.set(`{${namespace}}${local}`, { namespace, local });
  }
  return [...names.values()];
}
