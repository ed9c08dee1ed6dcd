// Places in archives: the archive is a place of its own, on which the rights of the caller are judged, and what lies in it is read through it.

import { ArchiveBackend } from "../../backend/archive/archive.js";
import type { Ability } from "../../core/call/capability.js";
import type { RelPath } from "../../core/call/path.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, type Place, pathText } from "../../core/errors/texts.js";
import { after } from "../../core/io.js";
import type { PathCall, PlaceRequest, Root } from "../../core/ports/operation.js";
import { type ArchivePath, archiveIn } from "../../path/archive-path.js";
import { relPath } from "../../path/grammar.js";
import { CallAccess } from "./access.js";
import type { CallState } from "./state.js";

/** The archive that a path enters. @returns `undefined`: none; so for paths of records, which name entries whatever they are called */
export function archiveOf({ isReal, isExact, changes }: PlaceRequest, path: RelPath): ArchivePath | undefined {
  const isOfRecord = isReal === true || (changes && isExact === true);
  return isOfRecord ? undefined : archiveIn(path);
}

/** @throws NOT_SUPPORTED for every operation that does not look in archives, and for archives in archives, whatever is there */
export function requireLook(archive: ArchivePath, { root, changes }: PlaceRequest, call: CallState): void {
  const { context, operation } = call;
  const { text: path } = insideOf(archive, archive.archive);
  if (operation.looksInArchives !== true || changes || context.surface === "webdav") {
    throw refusal({ root, path }, call);
  }
  if (!archive.isNested) return;
  const told = `Cannot look into an archive in an archive: ${pathText(path)}`;
  const [advice, next] = offersExtract(call)
    ? ([`Extract the outer one with ${EXTRACT}`, { next: { tool: EXTRACT } }] as const)
    : (["Ask for the outer one to be extracted", {}] as const);
  throw adapterError("NOT_SUPPORTED", `${told}. ${advice}`, { ...at({ root, path }), ...next });
}

const EXTRACT = "archive:extract";
/** Whether the caller may be told to extract: a model is, if its list of tools has that. */
const offersExtract = ({ context: { budget } }: CallState): boolean => budget?.offers?.(EXTRACT) !== false;

function refusal(place: Place, call: CallState): FileAdapterError {
  const { changes } = call.operation;
  const told = changes ? "Cannot write an archive entry" : `${call.name} does not look into archives`;
  const tool = offersExtract(call) ? EXTRACT : changes ? "file:write" : "file:list";
  const advice = tool === "file:write" ? `read it, and write outside the archive with ${tool}` : `use ${tool}`;
  const more = changes && tool === EXTRACT ? " or archive:zip" : "";
  return adapterError("NOT_SUPPORTED", `${told}: ${advice}${more}`, { ...at(place), next: { tool } });
}

/** The whole path of a place in an archive. @param archive where that lies */
export const insideOf = ({ inside }: ArchivePath, { segments }: RelPath): RelPath =>
  relPath([...segments.slice(0, -1), `${segments.at(-1)}!`, ...inside]);

/** Archives up to this size have directories that take little memory, also once they are unpacked. */
const SMALL_BYTES = 16_384;

/** A directory may take 100 MB: a caller reads one after the other. */
export function inTurn<T>(
  { context, parts, scope }: Pick<CallState, "context" | "parts" | "scope">,
  size: number,
  read: () => Promise<T>,
): Promise<T> {
  if (size <= SMALL_BYTES) return read();
  const begin = async () => {
    // A call that ended while it waited has closed the file, or will.
    scope.checkpoint();
    return read();
  };
  return parts.turns.run(`archives of ${context.callerDID ?? ""}`, begin, scope.signal);
}

/** Deny patterns count for what lies in the archive; rights are those on the archive itself. */
class AccessInside extends CallAccess {
  readonly #archive: CallAccess;

  constructor(archive: CallAccess, ...[call, root, path, request]: ConstructorParameters<typeof CallAccess>) {
    super(call, root, path, { ...request, abilities: [] });
    this.#archive = archive;
  }

  override holds(ability: Ability): boolean {
    return this.#archive.holds(ability);
  }

  override require(ability: Ability): void {
    this.#archive.require(ability);
  }
}

/** @param place of the archive itself */
export function placeInside(
  archive: ArchivePath,
  place: { readonly root: Root; readonly path: RelPath; readonly access: CallAccess },
  call: CallState,
): Pick<PathCall, "root" | "path" | "access"> {
  const { root, path: own, access } = place;
  const path = insideOf(archive, own);
  const request = { root: root.name, path: path.text, abilities: [], changes: false } as const;
  const within = new AccessInside(access, call, root, path, request);
  const backend = new ArchiveBackend({
    ...{ kind: archive.kind, depth: own.segments.length, place: access.place, kept: call.parts.archives },
    key: `${root.name}/${root.owner ?? ""}`,
    inTurn: (size, read) => inTurn(call, size, read),
    open: () =>
      after(root.backend.open(own, access), (file) => {
        try {
          within.real([...access.realPath, ...archive.inside]);
        } catch (error) {
          file.close();
          throw error;
        }
        return file;
      }),
    refuse() {
      throw refusal(within.place, call);
    },
  });
  return { root: { ...root, backend, journal: undefined }, path, access: within };
}
