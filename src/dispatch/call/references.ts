// Places that a call names by references: drives, of the caller and of others, and the references of an answer.

import { driveKey, driveOfKey, referenceTo } from "../../authz/drive-key.js";
import type { RelPath } from "../../core/call/path.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { type Awaitable, after, isPending } from "../../core/io.js";
import {
  isPersonal,
  type OpenRoot,
  type PersonalRoot,
  type PlaceRequest,
  type Root,
} from "../../core/ports/operation.js";
import { relPath } from "../../path/grammar.js";
import type { DispatchOptions } from "../options.js";
import { type CallPlaces, type SpelledCall, spelledCall } from "../spellings.js";
import { openForOwner, ownerOf, rootOf } from "./drives.js";
import { addVisibleRoots } from "./parts.js";
import type { CallState } from "./state.js";

/** A place whose root is found. */
interface FoundPlace {
  readonly name: string;
  readonly path: RelPath;
  readonly root: Root;
}

/**
 * The place in a drive that a request names. Where the caller may do in a root on its drive what it may not do in the drive, the
 * place is the one in the root, with the rules of that. Nothing is looked at.
 *
 * @returns `undefined`: the request names a root @throws DRIVE_REQUIRES_AUTH, INVALID_INPUT
 */
export function driveAt({ root, abilities }: PlaceRequest, path: RelPath, call: CallState): FoundPlace | undefined {
  const { authoriser, context, parts } = call;
  const { references } = parts;
  const named = references === undefined ? undefined : driveOfKey(root);
  if (named === undefined || references === undefined) return undefined;
  const { drive } = named;
  const owner = named.owner === undefined ? ownerOf(drive, context, parts) : references.canonicalDid(named.owner);
  const name = driveKey(owner, drive);
  const may = (resource: readonly string[]) => abilities.every((can) => authoriser.allows(resource, can));
  const isOthers = owner !== parts.driveOwner?.(context);
  if (!isOthers && !may([name, ...path.segments])) {
    for (const one of parts.roots().values()) {
      const below = isPersonal(one) && one.drive === drive ? pathBelow(one, path) : undefined;
      if (below !== undefined && may([one.name, ...below.segments]) && isPersonal(one))
        return { name: one.name, path: below, root: openForOwner(one, owner) };
    }
  }
  return { name, path, root: rootOf(references.drive(drive, name), owner, isOthers) };
}

/** The drive that a call has named, by its key. */
export function referredRoot(
  name: string,
  { references }: Pick<DispatchOptions, "references">,
): PersonalRoot | undefined {
  const named = references === undefined ? undefined : driveOfKey(name);
  return named && references?.drive(named.drive, name);
}

/** A path of a drive as one of a root on it. */
function pathBelow({ subpath = [] }: PersonalRoot, { segments }: RelPath): RelPath | undefined {
  return subpath.every((name, index) => name === segments[index]) ? relPath(segments.slice(subpath.length)) : undefined;
}

/** Runs a call in our fields, and answers in its own. @param visible the roots that the caller may use */
export function runSpelled(
  call: CallState,
  run: () => Awaitable<unknown>,
  visible: () => readonly OpenRoot[],
): Awaitable<unknown> {
  let spelled: SpelledCall;
  try {
    spelled = spelledCall(call.operation, call.given, call.parts.drives !== undefined);
  } catch (error) {
    throw addVisibleRoots(error, visible);
  }
  const { given, answer, start } = spelled;
  call.given = given;
  if (answer === undefined) return run();
  const answerBy = (ours: unknown) => answer(ours, placesOf(call));
  if (start === undefined) return after(run(), answerBy);
  const fromStart = (error: unknown): Awaitable<unknown> => {
    const isTooLarge = error instanceof FileAdapterError && error.code === "TOO_LARGE";
    if (!isTooLarge || placesOf(call).url() === undefined) throw error;
    call.given = start;
    call.forgetPlaces();
    return after(run(), (ours) => {
      const answered = answerBy(ours);
      if (answered === ours) throw error;
      return answered;
    });
  };
  return recovered(() => after(run(), answerBy), fromStart);
}

/** As `catch` does, for what may be there at once. */
function recovered(
  work: () => Awaitable<unknown>,
  recover: (error: unknown) => Awaitable<unknown>,
): Awaitable<unknown> {
  try {
    const output = work();
    return isPending(output) ? output.catch(recover) : output;
  } catch (error) {
    return recover(error);
  }
}

/** Names of places that the answer of a call may tell. */
function placesOf(call: CallState): CallPlaces {
  const { resource, others, context, parts } = call;
  const canonical = ([name = "", ...path]: readonly string[]): string => {
    // Operations on drives have their names in place of those of roots.
    if (parts.drives !== undefined) return referenceTo(driveKey(ownerOf(name, context, parts), name), path);
    const root = parts.roots().get(name);
    if (!isPersonal(root)) return referenceTo(name, path);
    return referenceTo(driveKey(ownerOf(name, context, parts), root.drive), [...(root.subpath ?? []), ...path]);
  };
  return {
    references: () => [...(resource === undefined ? [] : [resource]), ...others].map(canonical),
    url() {
      // Models have no HTTP of their own: what they read is shown to them.
      if (resource === undefined || context.budget !== undefined) return undefined;
      const [name = "", ...path] = resource;
      const drive = driveOfKey(name);
      if (drive?.owner !== undefined && drive.owner !== parts.driveOwner?.(context)) return undefined;
      const place = drive === undefined ? ["dav", name, ...path] : ["dlfs", drive.drive, ...path];
      const base = parts.davUrl?.(context);
      return base && `${base}/${place.map(encodeURIComponent).join("/")}`;
    },
  };
}
