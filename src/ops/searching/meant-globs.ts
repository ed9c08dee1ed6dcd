// Globs that begin with the name of their root: each is read as a glob in that root, by the same rules as paths.

import { FileAdapterError } from "../../core/errors/errors.js";
import type { PathCall, PlacesCall } from "../../core/ports/operation.js";
import { isWithin } from "../../path/grammar.js";

type Patterns = string | string[];

const MAGIC = /[\\?*+@!()[\]{}]/g;

/** The globs of an input as they are meant. */
export function meantGlobs(patterns: Patterns, base: PathCall, call: PlacesCall): Patterns {
  const meant = (one: string): string => meantGlob(one, base, call);
  return typeof patterns === "string" ? meant(patterns) : patterns.map(meant);
}

/** An input with its `exclude` as it is meant. */
export const withMeantExclude = <Input extends { exclude?: Patterns }>(
  input: Input,
  base: PathCall,
  call: PlacesCall,
): Input => (input.exclude === undefined ? input : { ...input, exclude: meantGlobs(input.exclude, base, call) });

function meantGlob(pattern: string, { root, path: { segments: top, text } }: PathCall, { meant }: PlacesCall): string {
  const segments = pattern.split("/");
  const end = segments.findIndex((one, at) => one.search(MAGIC) >= 0 || at === segments.length - 1);
  const named = segments.slice(0, end);
  const rest = segments.slice(end).join("/");
  const path = named.join("/");
  if (path === "" || named.includes("..")) return pattern;
  try {
    const place = meant({ root: root.name, path, base: text, abilities: ["crud/read"], changes: false }).segments;
    const below = isWithin(place, top) ? place.slice(top.length).join("/") : undefined;
    const asWritten = named.filter((one) => one !== "" && one !== ".").join("/");
    if (below === undefined || below === asWritten || (below === "" && rest === "")) return pattern;
    return ["./", below.replace(MAGIC, "\\$&"), below === "" ? "" : "/", rest].join("");
  } catch (error) {
    // The compiler of globs reports the fault.
    if (error instanceof FileAdapterError) return pattern;
    throw error;
  }
}
