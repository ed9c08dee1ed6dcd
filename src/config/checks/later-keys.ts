import type { KeyPath } from "../key-path.js";
import { isObject } from "./json-schema.js";

/**
 * Keys of the specification that nothing here acts on yet, by full path; `*` is a name. They are refused as such, so
 * that a config never silently does nothing. Whoever implements a key moves it from here to `schemas/config.json`.
 */
const LATER_KEYS: readonly (readonly string[])[] = [
  ...["file.roots.*.journal", "file.roots.*.journalQuota", "file.roots.*.trash"],
].map((key) => key.split("."));

/**
 * The later keys that stand at `path`: itself, or those in it when the specification lists only its members (`drives`).
 *
 * @param value what stands there
 * @returns empty: `path` is no later key
 */
export function laterKeysAt(path: KeyPath, value: unknown): readonly KeyPath[] {
  const below = LATER_KEYS.filter((key) => path.every((name, index) => key[index] === "*" || key[index] === name));
  if (below.length === 0) return [];
  if (below.some((key) => key.length === path.length) || !isObject(value)) return [path];
  const members = Object.keys(value).flatMap((key) => laterKeysAt([...path, key], value[key]));
  return members.length === 0 ? [path] : members;
}
