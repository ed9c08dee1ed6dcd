// Moving and copying, within a root and between roots. An existing entry is never replaced unasked.

import { change } from "../../api/call.js";
import { codeOf } from "../../api/errors.js";
import { texts } from "../../texts.js";
import { joinPath, nameOf, parentOf } from "../../ui/format.js";
import { notify, notifyFailure } from "../../ui/notices.js";
import { clearSelection } from "../selection.js";
import { refreshFolder } from "./delete.js";
import { pickFolder } from "./folder-picker.js";
import { type ClashAnswer, ClashAsker, freeName } from "./name-conflict.js";

type How = "move" | "copy";

export interface Target {
  readonly root: string;
  readonly path: string;
}

export const moveItems = (root: string, paths: readonly string[]): Promise<void> =>
  pickAndRelocate("move", root, paths);
export const copyItems = (root: string, paths: readonly string[]): Promise<void> =>
  pickAndRelocate("copy", root, paths);

async function pickAndRelocate(how: How, root: string, paths: readonly string[]): Promise<void> {
  const title = how === "move" ? texts.moveTitle(paths.length) : texts.copyTitle(paths.length);
  const target = await pickFolder({
    title,
    button: how === "move" ? texts.moveHere : texts.copyHere,
    root,
    path: parentOf(paths[0] ?? ""),
  });
  if (target !== undefined) await relocate(how, root, paths, target);
}

/** Moves or copies entries into a folder, one after the other; asks at each clash. */
export async function relocate(how: How, root: string, paths: readonly string[], target: Target): Promise<void> {
  const asker = new ClashAsker(paths.length > 1);
  let done = 0;
  for (const path of paths) {
    const isHere = how === "move" && root === target.root && parentOf(path) === target.path;
    if (isHere) continue;
    try {
      if (await relocateOne(how, { root, path }, target, asker)) done += 1;
    } catch (error) {
      notifyFailure(error);
    }
  }
  clearSelection();
  for (const folder of new Set(paths.map(parentOf))) refreshFolder(root, folder);
  refreshFolder(target.root, target.path);
  if (done > 0) notify(how === "move" ? texts.moved(done) : texts.copiedItems(done));
}

/** @returns whether it was moved or copied @throws ApiError */
async function relocateOne(how: How, from: Target, target: Target, asker: ClashAsker): Promise<boolean> {
  const name = nameOf(from.path);
  const to = (as: string, overwrite: boolean) => {
    const input = {
      ...from,
      to: joinPath(target.path, as),
      toRoot: target.root,
      ...(overwrite ? { overwrite } : { ifNoneMatchTo: "*" }),
    };
    return how === "move" ? change("file:move", input) : change("file:copy", { ...input, recursive: true });
  };
  try {
    await to(name, false);
    return true;
  } catch (error) {
    if (!isClash(error)) throw error;
  }
  const isInPlace = how === "copy" && from.root === target.root && parentOf(from.path) === target.path;
  const answer: ClashAnswer = isInPlace ? "keep both" : await asker.ask(name);
  if (answer === "skip") return false;
  await to(answer === "replace" ? name : await freeName(target, name), answer === "replace");
  return true;
}

const isClash = (error: unknown): boolean =>
  ["ALREADY_EXISTS", "CONFLICT", "EXISTS_NOT_DIRECTORY", "IS_A_DIRECTORY"].includes(codeOf(error));
