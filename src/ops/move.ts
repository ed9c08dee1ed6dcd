import { conflict, invalidInput } from "../core/errors/texts.js";
import { SOURCE_STAYS } from "../core/errors/undo-texts.js";
import { type Expected, hashText } from "../core/etag.js";
import type { Copied, PlaceOptions } from "../core/ports/backend.js";
import type { Operation } from "../core/ports/operation.js";
import type { MoveInput, MoveOutput } from "../schema/types.js";
import { copyTree } from "./copying/copy-tree.js";
import { checkTwoPlaces, etagIn, expectedFrom, placeOptions, placesOf, type TwoPlaces } from "./copying/two-places.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** `move`: moves a file, link or directory; across trees by copying. */
export const move: Operation<MoveInput, MoveOutput> = {
  name: "move",
  on: "places",
  ability: "crud/write",
  also: ["crud/read", "crud/delete"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  check: checkTwoPlaces,
  async run(input, call) {
    const places = placesOf(input, call, { abilities: ["crud/read", "crud/delete"], changes: true, anyName: true });
    const { from, to, isOneTree } = places;
    if (from.path.segments.length === 0) {
      throw invalidInput("The root itself cannot be moved", "/path", "a path below the root");
    }
    await refuseTwinFolders(to, input.parents === true);
    const options = { ...placeOptions(input, call), expectedFrom: expectedFrom(input, call) };
    const paths = { path: from.path.text, to: to.path.text, moved: true };
    // Where one of two roots with the same tree asks a person, the change does.
    if (isOneTree) to.access.approve ??= from.access.approve;
    const moved = isOneTree ? await from.root.backend.move(from, to, options) : undefined;
    if (moved !== undefined) {
      return { ...paths, overwritten: moved.overwritten, ...etagIn(from, moved), atomic: true };
    }
    const copied = await moveByCopy(places, options);
    const { overwritten, files } = copied;
    return { ...paths, overwritten, ...etagIn(from, copied), files, atomic: false };
  },
};

/**
 * Copies, verifies, then removes the source if it has not changed since. On failure it removes the copy; one that has replaced
 * something stays, since that cannot be restored.
 */
async function moveByCopy(
  places: TwoPlaces,
  options: PlaceOptions & { readonly expectedFrom: Expected | undefined },
): Promise<Copied> {
  const { from, to } = places;
  const { access } = from;
  // The copy and the removal belong together.
  access.beginGroup?.();
  const source = await from.root.backend.source(from.path, { followLast: false, there: to.access }, access);
  try {
    await from.root.askToTake?.(from);
    const copied = await copyTree(places, source, { ...options, isWhole: true });
    const { sha256 } = copied;
    try {
      const isUnchanged = await source.isUnchanged();
      if (!isUnchanged) throw conflict(access.place, { verb: access.verb, expected: "no change meanwhile" });
      const recursive = source.top.type === "directory";
      const expected = sha256 === undefined || recursive ? undefined : { content: hashText(sha256) };
      await from.root.backend.remove(from.path, { recursive, expected }, access);
    } catch (error) {
      if (!copied.overwritten && (await takeBack(places))) access.scope.retract();
      else access.behind?.(SOURCE_STAYS);
      throw error;
    }
    return copied;
  } finally {
    source.close();
  }
}

/** Removes the copy. @returns whether it is gone */
async function takeBack({ to }: TwoPlaces): Promise<boolean> {
  try {
    await to.root.backend.remove(to.path, { recursive: true, discards: true }, to.access);
    return true;
  } catch {
    return false;
  }
}
