import type { KeyPath } from "../key-path.js";
import { isObject } from "./json-schema.js";

/**
 * Keys of the specification that are not implemented yet, by full path; `*` is any name. They are refused, so that no
 * key is silently ignored. When implementing a key, move it from here to `schemas/config.json`.
 */
const LATER_KEYS: readonly (readonly string[])[] = [
  ...["file.roots.*.journal", "file.roots.*.journalQuota", "file.roots.*.trash"],
].map((key) => key.split("."));

/**
 * The unimplemented keys at `path`: the path itself, or its members if the specification lists only those (`drives`).
 *
 * @param value the value at `path`
 * @returns empty if there is none
 */
export function laterKeysAt(path: KeyPath, value: unknown): readonly KeyPath[] {
  const below = LATER_KEYS.filter((key) => path.every((name, index) => key[index] === "*" || key[index] === name));
  if (below.length === 0) return [];
  if (below.some((key) => key.length === path.length) || !isObject(value)) return [path];
  const members = Object.keys(value).flatMap((key) => laterKeysAt([...path, key], value[key]));
  return members.length === 0 ? [path] : members;
}
