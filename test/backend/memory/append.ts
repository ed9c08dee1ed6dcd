import { requireExpected, sizeError } from "../../../src/backend/preconditions.js";
import { isExpected } from "../../../src/core/etag.js";
import type { Access, AppendOptions, Written } from "../../../src/core/ports/backend.js";
import { sha256Of } from "./sha256.js";
import type { FileNode } from "./tree.js";

const NOTHING = Buffer.alloc(0);

/** Decides on an append, or on a write, which expects no size. @returns what to answer when it has been done already @throws CONFLICT */
export function checkAppend(
  old: FileNode | undefined,
  { data = NOTHING, expected, expectedSize }: Omit<AppendOptions, "parents"> & { readonly data?: Buffer },
  access: Access,
): Written | undefined {
  const size = old?.content.length ?? 0;
  if (expectedSize === undefined || size === expectedSize) {
    if (expected !== undefined) requireExpected(expected, old?.sha256, access);
    return undefined;
  }
  // Never told to whoever may not read: by asking for one byte more each time they could find out all of them.
  const isRepeated =
    old !== undefined &&
    size === expectedSize + data.length &&
    access.holds("crud/read") &&
    old.content.subarray(expectedSize).equals(data) &&
    (expected === undefined || isExpected(expected, sha256Of(old.content.subarray(0, expectedSize))));
  if (!isRepeated) throw sizeError(expectedSize, old && size, access);
  return { bytes: 0, created: false, size, sha256: old.sha256, isRepeated };
}
