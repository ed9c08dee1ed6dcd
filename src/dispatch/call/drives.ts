// Calls on whole drives, and whose drives a call is on.

import { toCallerError } from "../../backend/drive/errors.js";
import { adapterError } from "../../core/errors/errors.js";
import { escapeText, unknownOperation } from "../../core/errors/texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ChangeOrigin, DriveMaker } from "../../core/ports/changes/change.js";
import type { AnyOperation } from "../../core/ports/operation.js";
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
