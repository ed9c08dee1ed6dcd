// Preconditions and digests for the condition suite.

import { FileAdapterError } from "../../core/errors/errors.js";
import { type Conflict, conflict } from "../../core/errors/texts.js";
import { type Expected, etagOf, hashText, type Sha256 } from "../../core/etag.js";
import type { AppendOptions, Written } from "../../core/ports/backend.js";
import { parsePath } from "../../path/grammar.js";
import { type AccessOverrides, SUITE_ROOT, testAccess } from "../access.js";
import { bodyOf, type Content, placeOf } from "../files.js";
import type { Stage } from "../scenario.js";

export const ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
export const TWO = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3";
export const ONE_TWO = "25b6746d5172ed6352966a013d93ac846e1110d5a25e8f183b5931f4688842a1";
export const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

export const etag = (sha256: Sha256): Expected => ({ content: etagOf(sha256) });
export const hash = (sha256: Sha256): Expected => ({ content: hashText(sha256) });

type Options = Partial<AppendOptions> & { readonly recursive?: boolean };
type Method = "write" | "append" | "mkdir" | "remove";

/** A change of the given kind, with the backend's complete answer. */
export async function change(
  { backend }: Stage,
  [method, path, content = "two"]: readonly [method: Method, path: string, content?: Content],
  { parents = false, recursive = false, expected, expectedSize, ...overrides }: Options & AccessOverrides,
): Promise<Partial<Written> & { existed?: boolean }> {
  const parsed = parsePath(SUITE_ROOT, path);
  const access = testAccess({ verb: method, ...overrides, path: parsed.text });
  if (method === "remove") return backend.remove(parsed, { recursive, expected }, access);
  if (method === "mkdir") return backend.mkdir(parsed, { parents, expected }, access);
  if (method === "write") return backend.write(parsed, bodyOf(content), { parents, expected }, access);
  return backend.append(parsed, bodyOf(content), { parents, expected, expectedSize }, access);
}

export const refusal = (path: string, verb: string, details: Omit<Conflict, "verb">): FileAdapterError =>
  conflict(placeOf(path), { verb, ...details });

export const codeOf = (error: unknown): unknown => (error instanceof FileAdapterError ? error.code : error);
