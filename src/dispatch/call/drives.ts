// Whose drives a call is on, calls on whole drives, and roots as a caller sees them.

import type { Authoriser } from "../../authz/authorise.js";
import { toCallerError } from "../../backend/drive/errors.js";
import { adapterError } from "../../core/errors/errors.js";
import { escapeText, unknownOperation } from "../../core/errors/texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ChangeOrigin, DriveMaker } from "../../core/ports/changes/change.js";
import {
  type AnyOperation,
  isPersonal,
  type PersonalRoot,
  type Root,
  type RootView,
} from "../../core/ports/operation.js";
import type { DispatchOptions } from "../options.js";
import { callOf } from "./parts.js";
import type { CallState } from "./state.js";

type DrivesOperation = Extract<AnyOperation, { on: "drives" }>;

/** Authorises a call on whole drives. @returns runs it */
export function prepareOnDrives(operation: DrivesOperation, call: CallState): () => Promise<unknown> {
  const { given, context, authoriser, scope, parts } = call;
  const { drives } = parts;
  if (drives === undefined) throw unknownOperation(operation.name);
  const named = operation.driveOf?.(given) ?? given["drive"];
  const drive = named === undefined ? undefined : String(named);
  const isOnAllDrives = operation.isOnAllDrives?.(given) ?? false;
  const resource = drive === undefined || isOnAllDrives ? [] : [drive];
  call.resource = resource;
  const name = drive === undefined ? "dlfs" : drives.root(drive).drive;
  const owner = ownerOf(name, context, parts);
  if (drive === undefined && !isOnAllDrives) authoriser.requireReadSomewhere();
  else for (const can of [operation.ability, ...(operation.also ?? [])]) authoriser.require(resource, can);
  const maker = makerOf(owner, call);
  const sees = (one: string): boolean => authoriser.seesRoot(one);
  return async () => {
    try {
      const shelf = await scope.race(drives.shelf(owner));
      return await scope.race(operation.run(given, { ...callOf(call), shelf, sees, maker }));
    } catch (error) {
      throw toCallerError(error, { place: { root: name, path: "" }, drive: drive ?? "", verb: operation.name });
    }
  };
}

/** Reports changes of whole drives in the way of changes inside them. */
function makerOf(owner: string, call: CallState): DriveMaker {
  const originIn = (drive: string): ChangeOrigin => call.originIn({ name: drive, drive, owner });
  return {
    originIn,
    beginGroup: () => call.beginGroup(),
    changed(drive, change) {
      if (!call.isUnheard) call.report(originIn(drive), change);
    },
  };
}

/** DID of the owner of the drives that a caller uses. @throws DRIVE_REQUIRES_AUTH */
export function ownerOf(
  drive: string,
  context: SurfaceContext,
  { driveOwner }: Pick<DispatchOptions, "driveOwner">,
): string {
  const owner = driveOwner?.(context);
  if (owner !== undefined) return owner;
  const told = `DLFS-backed root '${escapeText(drive)}' requires authenticated caller`;
  throw adapterError("DRIVE_REQUIRES_AUTH", told, { root: drive });
}

/** The rights of a caller in a root. Protected paths can be read, and are refused where a change is made. */
const rootView = (root: Root, authoriser: Authoriser): RootView => ({
  root,
  isVisible: authoriser.seesRoot(root.name),
  allows: (segments, ability) =>
    root.policy?.denies(segments) !== true && authoriser.allows([root.name, ...segments], ability),
});

/** A drive of the caller, as it sees it. @returns `undefined` for one of another */
export const ownView = (root: Root, { authoriser, context, parts }: CallState): RootView | undefined =>
  root.owner !== undefined && root.owner === parts.driveOwner?.(context) ? rootView(root, authoriser) : undefined;

/** All roots as the caller sees them; those of its drives only if it has an owner. */
export function viewsOf({ authoriser, context, parts }: CallState): readonly RootView[] {
  const owner = parts.driveOwner?.(context);
  return [...parts.roots().values()].flatMap((root) => {
    if (!isPersonal(root)) return [rootView(root, authoriser)];
    return owner === undefined ? [] : [rootView(openForOwner(root, owner), authoriser)];
  });
}

/** The last owner's root of each drive root: a patch asks for it once per file. */
const lastOpened = new WeakMap<PersonalRoot, Root>();

/** A drive root of one owner. @param owner DID */
export function openForOwner(root: PersonalRoot, owner: string): Root {
  const last = lastOpened.get(root);
  if (last?.owner === owner) return last;
  const opened = rootOf(root, owner, false);
  lastOpened.set(root, opened);
  return opened;
}

/** @param owner DID @param isOthers it is not the caller */
export function rootOf(root: PersonalRoot, owner: string, isOthers: boolean): Root {
  // A token opens what is there, not what was.
  const journal = isOthers ? undefined : root.journalFor?.(owner);
  return Object.assign({}, root, { owner, backend: root.backendFor(owner, isOthers), journal });
}
