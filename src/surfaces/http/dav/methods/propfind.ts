// PROPFIND: properties of a resource, or of a collection and its members, sent as they are listed.

import type { FastifyReply } from "fastify";
import { announcesBody } from "../../admission/linger.js";
import { readBody } from "../../admission/read-body.js";
import { sendChunks } from "../../endpoints/file-sending.js";
import { COMMON_HEADERS } from "../../plumbing/answer.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import { type DavCall, type Found, undefinedFor } from "../call.js";
import { DavError } from "../errors.js";
import { LIVE_NAMES, liveProperty, QUOTA_NAMES, type Quota, type Resource } from "../properties/live.js";
import { type PropertyRequest, propertyRequest } from "../properties/request.js";
import { childOf, hrefOf, type Target } from "../target.js";
import { MAX_XML_BYTES, readXml, type XmlElement } from "../xml/read.js";
import {
  clark,
  DAV,
  element,
  escapeXml,
  fromClark,
  Markup,
  namedElement,
  PROLOGUE,
  XML_TYPE,
  type XmlName,
} from "../xml/write.js";

/** Entries of a directory asked for at once. */
const PAGE = 5000;
/** A listing that is not taken for so long is cut off, in milliseconds. */
const STALL_MS = 60_000;
/** Files up to this size are hashed for an ETag. */
export const MAX_HASHED_BYTES = 8_388_608;
/** Bytes of XML gathered before they are sent. */
const CHUNK_CHARS = 32_768;

export async function propfind(call: DavCall): Promise<FastifyReply> {
  const depth = depthOf(call);
  const wanted = propertyRequest(await xmlBody(call));
  const top = await resourceAt(call, wanted);
  const rows = depth === 0 || !top.isCollection ? topOnly(top) : withMembers(call, top);
  const { request, reply } = call.exchange;
  reply.code(207).headers({ ...COMMON_HEADERS, "content-type": XML_TYPE });
  await sendChunks(
    multistatus(rows, (resource) => responseOf(call, resource, wanted)),
    {
      ...{ request, reply, stallMs: STALL_MS },
      onBegin: () => {},
    },
  );
  return reply;
}

function depthOf(call: DavCall): 0 | 1 {
  const depth = call.header("depth")?.trim().toLowerCase() ?? "infinity";
  if (depth === "0") return 0;
  if (depth === "1") return 1;
  if (depth !== "infinity") throw badRequest("Depth must be 0 or 1");
  const condition = element("D:propfind-finite-depth");
  throw new DavError(403, "Depth: infinity is not served. Ask with Depth: 1", { condition });
}

/** The XML body of a request; `undefined` if it is empty. @throws HttpError 400, 413 */
export async function xmlBody({ exchange }: DavCall): Promise<XmlElement | undefined> {
  const { request, memory } = exchange;
  if (!announcesBody(request.raw)) return undefined;
  const bytes = await readBody(request, { limit: MAX_XML_BYTES, lease: memory });
  return bytes.length === 0 ? undefined : readXml(bytes);
}

/** The target of a request, as it is. @throws HttpError 404 */
async function resourceAt(call: DavCall, request: PropertyRequest): Promise<Resource> {
  const { target } = call;
  if (target.root === undefined) return { place: target, isCollection: true };
  const found = await foundAt(call, target);
  if (found === undefined) {
    call.properties.dropOne(call.spotOf(target));
    throw new DavError(404, "There is nothing at this URL", { code: "NOT_FOUND" });
  }
  const isCollection = found.type === "directory";
  const wantsHash = !isCollection && found.hash === undefined && found.size <= MAX_HASHED_BYTES && asksForEtag(request);
  const hashed = wantsHash ? await call.stat(target, true) : undefined;
  const quota = asksForQuota(request) ? await quotaOf(call, target) : undefined;
  return { place: target, isCollection, found: { ...found, ...hashed }, ...(quota === undefined ? {} : { quota }) };
}

const asksForQuota = (request: PropertyRequest): boolean =>
  request.kind === "named" && request.names.some(({ local }) => QUOTA_NAMES.includes(local));

/** Quota and use of the root that holds a place, or of all drives of the caller. */
async function quotaOf(call: DavCall, target: Target): Promise<Quota | undefined> {
  const { root } = target;
  if (call.driveOf(target) !== undefined) {
    const drives = (await call.names("dlfs")).map((name) => ({ space: "dlfs" as const, root: name, segments: [] }));
    const sizes = await Promise.all(drives.map((drive) => call.sizeOf(drive)));
    return { limit: call.dav.maxDriveBytes, used: sizes.reduce((sum, size) => sum + size, 0) };
  }
  const { quota } = (await call.roots()).find(({ name }) => name === root) ?? {};
  return quota?.bytes === undefined ? undefined : { limit: quota.bytes, used: quota.usedBytes ?? 0 };
}

/** The entry at a place. A file is not found by a URL that ends in a slash. */
export async function foundAt(call: DavCall, target: Target): Promise<Found | undefined> {
  const { space, root, segments, isSlashed } = target;
  if (space === "dlfs" && segments.length === 0 && root !== undefined) {
    // A drive that does not exist reads as an empty one.
    if (!(await call.names("dlfs")).includes(root)) return undefined;
  }
  const found = await call.stat(target);
  if (found === undefined || (found.type !== "file" && found.type !== "directory")) return undefined;
  return isSlashed && found.type === "file" ? undefined : found;
}

/** The type of what is at a place, where the entry itself is meant: a link may lead anywhere. */
export async function typeAt(call: DavCall, target: Target): Promise<string | undefined> {
  try {
    return (await foundAt(call, target))?.type;
  } catch (error) {
    const code = error instanceof HttpError ? error.more["errorCode"] : undefined;
    if ((code === "SYMLINK_ESCAPE" || code === "DANGLING_SYMLINK") && !target.isSlashed) return "symlink";
    throw error;
  }
}

const asksForEtag = (request: PropertyRequest): boolean =>
  request.kind !== "names" && (request.kind === "all" || request.names.some(({ local }) => local === "getetag"));

async function* topOnly(top: Resource): AsyncGenerator<Resource> {
  yield top;
}

async function* withMembers(call: DavCall, top: Resource): AsyncGenerator<Resource> {
  yield top;
  const { target } = call;
  if (target.root === undefined) {
    for (const name of await call.names(target.space)) yield* member(call, childOf(target, name));
    return;
  }
  for (let offset = 0; ; offset += PAGE) {
    const { entries, truncated } = await call.list(target, { offset, limit: PAGE });
    for (const { name, unreachable, ...found } of entries) {
      if (unreachable === true) continue;
      const place = childOf(target, name);
      const { type } = found;
      if (type === "symlink") yield* linkedFile(call, place);
      else if (type !== "other") {
        yield { place, isCollection: type === "directory", found };
      }
    }
    if (!truncated) return;
  }
}

/** A member of a collection of roots. */
async function* member(call: DavCall, place: Resource["place"]): AsyncGenerator<Resource> {
  if (call.target.space === "top")
    yield { place: { space: place.root === "dav" ? "dav" : "dlfs", segments: [] }, isCollection: true };
  else yield { place, isCollection: true };
}

/** A link to a file is listed as that file; others are left out. */
async function* linkedFile(call: DavCall, place: Resource["place"]): AsyncGenerator<Resource> {
  const hidden = ["SYMLINK_ESCAPE", "DANGLING_SYMLINK", "DENIED_BY_POLICY", "CAPABILITY_DENIED", "NOT_FOUND"];
  const found = await undefinedFor([...hidden, "OTHER_DEVICE", "NOT_A_DIRECTORY"], call.stat(place));
  if (found?.type === "file") yield { place, isCollection: false, found };
}

/** The whole document, in chunks. */
async function* multistatus(
  rows: AsyncIterable<Resource>,
  describe: (resource: Resource) => Markup,
): AsyncGenerator<Buffer> {
  let text = `${PROLOGUE}<D:multistatus xmlns:D="${escapeXml(DAV)}">\n`;
  for await (const row of rows) {
    text += `${describe(row).text}\n`;
    if (text.length < CHUNK_CHARS) continue;
    yield Buffer.from(text);
    text = "";
  }
  yield Buffer.from(`${text}</D:multistatus>\n`);
}

function responseOf(call: DavCall, resource: Resource, request: PropertyRequest): Markup {
  const { found, missing } = propertiesOf(call, resource, request);
  const groups = [
    ...(found.length > 0 || missing.length === 0 ? [propstat(found, FOUND)] : []),
    ...(missing.length > 0 ? [propstat(missing, MISSING)] : []),
  ];
  const href = hrefOf(call.host, resource.place, resource.isCollection);
  return element("D:response", [element("D:href", href), ...groups]);
}

const FOUND = element("D:status", "HTTP/1.1 200 OK");
const MISSING = element("D:status", "HTTP/1.1 404 Not Found");

const propstat = (properties: readonly Markup[], status: Markup): Markup =>
  element("D:propstat", [element("D:prop", properties), status]);

const NO_PROPERTIES: ReadonlyMap<string, string> = new Map();

interface Properties {
  readonly found: readonly Markup[];
  readonly missing: readonly Markup[];
}

function propertiesOf(call: DavCall, resource: Resource, request: PropertyRequest): Properties {
  const { place, isCollection } = resource;
  const dead = place.root === undefined ? NO_PROPERTIES : call.properties.of(call.spotOf(place), isCollection);
  if (request.kind === "all" && request.include.length === 0 && dead.size === 0) {
    return { found: LIVE_NAMES.flatMap((local) => liveProperty(local, resource, call) ?? []), missing: [] };
  }
  const propertyOf = (name: XmlName): Markup | undefined => {
    const kept = dead.get(clark(name));
    if (kept !== undefined) return Markup.trusted(kept);
    return name.namespace === DAV ? liveProperty(name.local, resource, call) : undefined;
  };
  const all = (): XmlName[] => {
    const live = LIVE_NAMES.map((local) => ({ namespace: DAV, local }));
    return [...live.filter((name) => propertyOf(name) !== undefined), ...[...dead.keys()].map(fromClark)];
  };
  if (request.kind === "names") return { found: all().map((name) => namedElement(name)), missing: [] };
  const included = request.kind === "all" ? request.include : [];
  const names = request.kind === "named" ? request.names : [...all(), ...included.filter((name) => !isIn(all(), name))];
  const pairs = names.map((name) => ({ name, value: propertyOf(name) }));
  return {
    found: pairs.flatMap(({ value }) => value ?? []),
    missing: pairs.flatMap(({ name, value }) => (value === undefined ? namedElement(name) : [])),
  };
}

const isIn = (names: readonly XmlName[], name: XmlName): boolean => names.some((one) => clark(one) === clark(name));
