// Finds the path that a request means: a path that names its root itself, as `file:roots` or a tree shows it, is taken as the path in
// that root, unless something of that name is there. Rights are judged on the path that is then meant.

import { homedir } from "node:os";
import type { RelPath } from "../../core/call/path.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, pathNotRelative } from "../../core/errors/texts.js";
import { attempt } from "../../core/io.js";
import type { JournalEntry } from "../../core/ports/changes/journal.js";
import { isPersonal, type OpenRoot, type PathCall, type PlaceRequest } from "../../core/ports/operation.js";
import { DRIVE, type KnownRoot, parsePath, type Spelling, spellingOf, withSlashes } from "../../path/grammar.js";
import type { CallState } from "./state.js";

/** Thrown before a place is used that the disk has a say in. Run the call again once `look` has ended. */
export class NeedsLook extends Error {
  override readonly name = "NeedsLook";
  readonly look: () => Promise<void>;

  constructor(look: () => Promise<void>) {
    super("The call has to look first");
    this.look = look;
  }
}

/** @throws NeedsLook, INVALID_PATH, PATH_NOT_RELATIVE, PATH_ESCAPES_ROOT */
export function meantPath(request: PlaceRequest, call: CallState): RelPath {
  const { root, base = "" } = request;
  // Tools of profiles refuse such names alike.
  const isExact = request.isExact === true || request.isReal === true;
  const anyName = (isExact || request.anyName === true) && call.context.tool === undefined;
  const parse = (text: string): RelPath => parsePath(root, text, { anyName });
  const facts = call.parts.roots().get(root);
  // To look at a drive is to open it.
  if (facts === undefined || isPersonal(facts) || isExact || call.context.exactPaths === true)
    return parse(joinedTo(base, request.path));
  const known = knownTo(facts, call);
  // A caller that knows the host path writes paths as the host does.
  const path = known.hostPath === undefined ? request.path : withSlashes(request.path);
  const joined = joinedTo(base, path);
  const absolute = base !== "" && /^(?:[/~]|file:|[a-z]:\/)/i.test(path) ? spellingOf(path, known) : undefined;
  const own = absolute?.isName === false ? absolute : spellingOf(joined, known);
  const spelling = own ?? elsewhere({ ...request, path }, call);
  if (spelling === undefined || !call.authoriser.seesRoot(root)) return parse(joined);
  return parse(choose({ ...spelling, as: joined }, { ...request, path }, call));
}

const joinedTo = (base: string, path: string): string => (base === "" ? path : `${base}/${path}`);

/** Not every user has one. */
const home = (): string | undefined => attempt(homedir);

/** A root as a caller knows it that sees it. */
const knownTo = ({ name, hostPath }: Pick<OpenRoot, "name" | "hostPath">, { parts }: CallState): KnownRoot =>
  parts.discloseHostPaths && hostPath !== undefined ? { name, hostPath, home } : { name };

/** A path of another root, where something would be made of it in this one. */
function elsewhere({ path, changes }: PlaceRequest, call: CallState): Spelling | undefined {
  const found = changes && /^(?:[/~]|[a-z]:\/)/i.test(path) ? rootNamedBy(path, call) : undefined;
  return found && { ...found, below: undefined };
}

/** How a path names a root that the caller sees by more than its name. */
function rootNamedBy(path: string, call: CallState) {
  for (const root of call.parts.roots().values()) {
    const found = call.authoriser.seesRoot(root.name) ? spellingOf(path, knownTo(root, call)) : undefined;
    if (found?.below !== undefined && !found.isName) return { ...found, below: found.below, root: root.name };
  }
  return undefined;
}

function choose(
  { prefix, below, isName, as }: Spelling & { readonly as: string },
  request: PlaceRequest,
  call: CallState,
): string {
  const { root, path, changes, abilities } = request;
  // No entry has a name that begins with a drive.
  if (below !== undefined && DRIVE.test(prefix[0] ?? "")) return below;
  const isPast = isName && request.isPast === true;
  const key = [isPast ? "past" : "", root, ...prefix].join("/");
  const seen = call.looks.get(key);
  if (seen === undefined) {
    throw new NeedsLook(async () => {
      call.looks.set(key, await lookAt({ root, prefix, isPast }, call));
      call.forgetPlaces();
    });
  }
  // Below a file there is nothing that the name could mean.
  if (seen !== "none" && seen !== "unseen" && (seen === "directory" || !isName || below === "")) return as;
  if (below === undefined) {
    if (changes) throw notOfRoot(request, rootNamedBy(path, call));
    return as;
  }
  // A new entry may be called as the root.
  if (isName && below === "" && changes) return as;
  if (seen !== "unseen") return below;
  const may = (text: string): boolean =>
    abilities.every((can) => call.authoriser.allows([root, ...parsePath(root, text).segments], can));
  return may(below) || !may(as) ? below : as;
}

function notOfRoot({ root, path }: PlaceRequest, meant: ReturnType<typeof rootNamedBy>): FileAdapterError {
  const { code, message, data } = pathNotRelative({ root, path });
  const hint = meant && `Pass root: "${escapeText(meant.root)}", path: "${escapeText(meant.below)}"`;
  return adapterError(code, message, { ...data, ...(hint && { hint }) });
}

interface Sought {
  readonly root: string;
  readonly prefix: readonly string[];
  /** A path that existed in the past counts too. */
  readonly isPast: boolean;
}

/** @returns the type of the entry at a place; `none`; `unseen`: the caller may not know */
async function lookAt({ root, prefix, isPast }: Sought, call: CallState): Promise<string> {
  try {
    const place = call.aside.at({ root, path: prefix.join("/"), abilities: ["crud/read"], changes: false });
    const found = await place.root.backend.stat(place.path, place.access);
    return found?.type ?? (isPast && (await wasThere(place, prefix, call)) ? "directory" : "none");
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code === "ABORTED" || error.code === "TIMEOUT") throw error;
    if (error.code === "CAPABILITY_DENIED" || error.code === "DENIED_BY_POLICY") return "unseen";
    // These two errors mean that no entry exists; after any other one, the entry exists.
    return error.code === "NOT_A_DIRECTORY" || error.code === "INVALID_PATH" ? "none" : "directory";
  }
}

/** Whether the caller may know of changes below a place. */
async function wasThere({ root }: PathCall, prefix: readonly string[], { authoriser }: CallState): Promise<boolean> {
  const journal = await root.journal?.open();
  const sees = ({ path }: JournalEntry): boolean =>
    root.policy?.denies(path) !== true && authoriser.allows([root.name, ...path], "crud/read");
  const found = await journal?.query({ path: prefix, limit: 1, sees });
  return found !== undefined && found.entries.length > 0;
}
