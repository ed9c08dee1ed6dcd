// Resources: the roots, directories and files of a venue by `venue://` URIs. Each look at them is a call of its own.

import { readsByScopes } from "../../authz/scopes.js";
import type { Capability } from "../../core/call/capability.js";
import type { Abortable } from "../../core/call/scope.js";
import type { CallTerms } from "../../core/call/terms.js";
import { parseVenueUri, VENUE_URI_TEMPLATE, type VenuePlace, venueUri } from "../../core/call/venue-uri.js";
import { attachedContent } from "../../core/content-bytes.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import type { MemoryLease } from "../../core/memory.js";
import type { ListOutput, ReadOutput, RootsOutput } from "../../schema/types.js";
import { RESULT } from "./answer.js";
import type { McpHost } from "./host.js";
import type { Era } from "./revisions.js";
import { outcome, startJob } from "./tool-calls.js";
import { INTERNAL_ERROR, INVALID_PARAMS, type Params, Refusal, RequestFault } from "./wire.js";

/** A request for resources. */
export interface Looking {
  readonly host: McpHost;
  readonly era: Era;
  readonly signal: Abortable;
  /** Capabilities of the scopes of the client's token. Absent: it has none. */
  readonly scopes?: readonly Capability[] | undefined;
  readonly memory: MemoryLease | undefined;
  /** The result may hold `ContentBytes` in place of strings. */
  readonly takesBytes: boolean;
}

const DIRECTORY = "inode/directory";
/** Resources of a page of the list, and of the whole list. */
const PAGE = 200;
const MOST = 2000;
/** Values that complete an argument. */
const MOST_VALUES = 100;
const NOT_FOUND_LEGACY = -32002;

/** Failures that are told alike, or who has no rights would learn what there is. */
const AS_MISSING: ReadonlySet<string> = new Set([
  ...["NOT_FOUND", "UNKNOWN_ROOT", "CAPABILITY_DENIED", "DENIED_BY_POLICY", "DRIVE_REQUIRES_AUTH"],
  ...["INVALID_INPUT", "INVALID_PATH", "PATH_NOT_RELATIVE", "PATH_ESCAPES_ROOT", "NOT_A_DIRECTORY"],
  ...["SYMLINK_ESCAPE", "DANGLING_SYMLINK", "OTHER_DEVICE"],
]);

const isMissing = (error: unknown): boolean => error instanceof FileAdapterError && AS_MISSING.has(error.code);

export const missing = (uri: string, era: Era): RequestFault =>
  new RequestFault(era === "legacy" ? NOT_FOUND_LEGACY : INVALID_PARAMS, "Resource not found", { uri });

/** JSON-RPC error in place of the error of a call. */
function faultOf(error: unknown, uri: string, { era }: Looking): unknown {
  if (isMissing(error)) return missing(uri, era);
  if (!(error instanceof FileAdapterError)) return error;
  return new RequestFault(INTERNAL_ERROR, error.message, { uri, errorCode: error.code });
}

type Outputs = { "file:roots": RootsOutput; "file:list": ListOutput; "file:read": ReadOutput };

/** @throws Refusal for want of a scope, before anything is looked at: that tells nothing but what the token says */
function requireScope({ scopes }: Looking, root?: string): void {
  if (scopes === undefined || readsByScopes(scopes, root)) return;
  throw new Refusal(403, "Sign in again, with the scope files:read", { code: INTERNAL_ERROR });
}

async function call<Name extends keyof Outputs>(
  { host, signal, memory, takesBytes }: Looking,
  operation: Name,
  input: object,
  terms: CallTerms = {},
): Promise<Outputs[Name]> {
  const request = { operation, input, ucans: undefined, memory, takesBytes, resource: terms };
  return (await outcome(startJob(host, request, signal), host.maxWaitMs)) as Outputs[Name];
}

/** The roots that the caller sees. */
async function rootsFor(by: Looking): Promise<RootsOutput["roots"]> {
  try {
    return (await call(by, "file:roots", {})).roots;
  } catch (error) {
    if (isMissing(error)) return [];
    throw faultOf(error, "venue://", by);
  }
}

type Entry = ListOutput["entries"][number] & { readonly mime?: string };

/** Names that no path has stand in no URI. */
const reachable = ({ entries }: ListOutput): readonly Entry[] => entries.filter((one) => one.unreachable !== true);

const placeOf = ({ root, segments }: VenuePlace, { name, type }: Entry): VenuePlace => ({
  root,
  segments: [...segments, name],
  isDirectory: type === "directory",
});

/** Where a page of the list begins: after how many resources; in the entries of a root, and behind which of them. */
type Position = readonly [told: number, root?: string | undefined, after?: string | undefined];

/** `resources/list`: the roots, then what is at the top of each. @throws RequestFault */
export async function listResources(by: Looking, { cursor }: Params): Promise<object> {
  const [told, from, after] = positionIn(cursor);
  requireScope(by);
  const roots = await rootsFor(by);
  const resources: object[] = from === undefined ? roots.slice(told, told + PAGE).map(rootResource) : [];
  const first = from === undefined ? 0 : roots.findIndex(({ name }) => name === from);
  if (first < 0) throw badCursor();
  const room = () => Math.min(PAGE, MOST - told) - resources.length;
  const next = (root?: string, behind?: string): object => {
    const end = told + resources.length;
    return { resources, ...(end < MOST && { nextCursor: cursorOf([end, root, behind]) }) };
  };
  if (from === undefined && told + resources.length < roots.length) return next();
  for (const [index, { name: root }] of roots.slice(first).entries()) {
    if (room() <= 0) return next(root);
    const listed = await topOf(by, root, { limit: room(), ...(index === 0 && after !== undefined && { after }) });
    resources.push(
      ...reachable(listed).map((entry) => entryResource({ root, segments: [], isDirectory: true }, entry)),
    );
    const last = listed.entries.at(-1);
    if (listed.truncated && last !== undefined) return next(root, last.name);
  }
  return { resources };
}

/** Entries of a root that the caller may not list as a whole, or that is gone by now, are none. */
async function topOf(by: Looking, root: string, page: object): Promise<ListOutput> {
  try {
    return await call(by, "file:list", { root, ...page }, { listsTypes: true });
  } catch (error) {
    if (isMissing(error)) return { entries: [], total: 0, truncated: false, complete: true };
    throw faultOf(error, venueUri({ root, segments: [], isDirectory: true }), by);
  }
}

const rootResource = ({ name, description }: RootsOutput["roots"][number]): object => ({
  ...{ uri: venueUri({ root: name, segments: [], isDirectory: true }), name, title: `${name}:`, mimeType: DIRECTORY },
  ...(description === undefined ? {} : { description }),
});

function entryResource(directory: VenuePlace, entry: Entry): object {
  const place = placeOf(directory, entry);
  const { name, type, size, modified, mime } = entry;
  const mimeType = type === "directory" ? DIRECTORY : mime;
  const time = new Date(modified);
  return {
    ...{ uri: venueUri(place), name, title: `${place.root}:${place.segments.join("/")}` },
    ...(mimeType !== undefined && { mimeType }),
    ...(type === "file" && { size }),
    // File systems take times that no date can hold.
    ...(!Number.isNaN(time.getTime()) && { annotations: { lastModified: time.toISOString() } }),
  };
}

const cursorOf = (position: Position): string =>
  Buffer.from(JSON.stringify(position.filter((one) => one !== undefined))).toString("base64url");

const badCursor = (): RequestFault => new RequestFault(INVALID_PARAMS, "Invalid cursor");

/** @throws RequestFault: it is no cursor of such a list */
function positionIn(cursor: unknown): Position {
  if (cursor === undefined) return [0];
  let position: unknown;
  try {
    position = JSON.parse(Buffer.from(String(cursor), "base64url").toString());
  } catch {
    throw badCursor();
  }
  const [told, ...names]: unknown[] = Array.isArray(position) ? position : [];
  const isPosition = Number.isSafeInteger(told) && (told as number) > 0 && (told as number) < MOST && names.length <= 2;
  if (!isPosition || !names.every((name) => typeof name === "string")) throw badCursor();
  return position as Position;
}

/** `resources/templates/list`. */
export const listTemplates = (): object => ({
  resourceTemplates: [
    {
      ...{ uriTemplate: VENUE_URI_TEMPLATE, name: "file", title: "File or directory" },
      description: "A file in a root, or with / at the end a directory",
    },
  ],
});

/** `resources/read`. @throws RequestFault */
export async function readResource(by: Looking, params: Params): Promise<object> {
  const uri = params["uri"] as string;
  const place = parseVenueUri(uri);
  if (place === undefined) throw missing(uri, by.era);
  requireScope(by, place.root);
  try {
    return place.isDirectory ? await readDirectory(by, place, uri) : await readFile(by, place, uri);
  } catch (error) {
    throw faultOf(error, uri, by);
  }
}

/** A directory too, where the slash at its end is missing: behind a link nobody can know. */
async function readFile(by: Looking, place: VenuePlace, uri: string): Promise<object> {
  let output: ReadOutput;
  try {
    output = await call(by, "file:read", { root: place.root, path: place.segments.join("/") });
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "IS_A_DIRECTORY") throw error;
    return readDirectory(by, place, uri);
  }
  const { content: text = "", ...rest } = output;
  const content = attachedContent(output) ?? text;
  const body = output.encoding === "base64" ? { blob: content } : { text: content };
  return { contents: [{ uri, mimeType: output.mime, ...body }], _meta: { [RESULT]: rest } };
}

async function readDirectory(by: Looking, place: VenuePlace, uri: string): Promise<object> {
  const listed = await call(by, "file:list", { root: place.root, path: place.segments.join("/") });
  const { entries: _, ...rest } = listed;
  const text = reachable(listed)
    .map((entry) => `${venueUri(placeOf(place, entry))}\r\n`)
    .join("");
  return { contents: [{ uri, mimeType: "text/uri-list", text }], _meta: { [RESULT]: rest } };
}

/** `completion/complete`: a root, or a path in one. @throws RequestFault */
export async function complete(by: Looking, { ref, argument, context }: Params): Promise<object> {
  const { type, uri } = ref as Params;
  if (type !== "ref/resource" || uri !== VENUE_URI_TEMPLATE) throw badArgument(`'ref' must be ${VENUE_URI_TEMPLATE}`);
  const { name, value } = argument as { readonly name: string; readonly value: string };
  const { root } = ((context as Params | undefined)?.["arguments"] ?? {}) as { readonly root?: string };
  requireScope(by, name === "path" ? root : undefined);
  if (name === "root")
    return completion(
      (await rootsFor(by))
        .map((one) => one.name)
        .filter((one) => one.startsWith(value))
        .sort(),
    );
  if (name !== "path") throw badArgument("'argument' must be root or path");
  return completePath(by, { root: root ?? (await onlyRoot(by)), value });
}

const badArgument = (text: string): RequestFault => new RequestFault(INVALID_PARAMS, text);

function completion(values: readonly string[], isCut = false): object {
  return { completion: { values: values.slice(0, MOST_VALUES), hasMore: isCut || values.length > MOST_VALUES } };
}

async function onlyRoot(by: Looking): Promise<string> {
  const [only, ...others] = await rootsFor(by);
  if (only === undefined || others.length > 0) throw badArgument("Pass root in 'context.arguments'");
  return only.name;
}

async function completePath(by: Looking, { root, value }: { root: string; value: string }): Promise<object> {
  const above = value.slice(0, value.lastIndexOf("/") + 1);
  if (/(?:^|\/)\.{1,2}\//.test(above)) return completion([]);
  const startsWith = value.slice(above.length);
  try {
    const listed = await call(by, "file:list", { root, path: above, limit: MOST_VALUES + 1 }, { startsWith });
    const values = reachable(listed).map(({ name, type }) => `${above}${name}${type === "directory" ? "/" : ""}`);
    return completion(values, listed.truncated);
  } catch (error) {
    if (isMissing(error)) return completion([]);
    throw faultOf(error, venueUri({ root, segments: [], isDirectory: true }), by);
  }
}
