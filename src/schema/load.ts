// Loads the JSON schemas of operations.

import { readFileSync } from "node:fs";
import { notLoaded } from "../core/errors/texts.js";
import { packageFile } from "../core/package-files.js";
import type { OperationMetadata } from "../core/ports/adapter.js";

/** Content of `schemas/<adapter>/<operation>.json`. */
export type OperationSchema = Pick<OperationMetadata, "title" | "description" | "input" | "output">;

/** Each schema is read once a process: reading them all takes longer than the rest of opening an adapter. */
const loaded = new Map<string, OperationSchema>();

/**
 * The schema of an operation, shared by all who ask: not to be changed.
 * @param name without the adapter's name: `read`
 * @throws IO_ERROR where it cannot be read now; the next call tries again
 */
export function loadOperationSchema(name: string, adapter = "file"): OperationSchema {
  const path = `schemas/${adapter}/${name}.json`;
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const schema = JSON.parse(readNow(path)) as OperationSchema;
  loaded.set(path, schema);
  return schema;
}

function readNow(path: string): string {
  try {
    return readFileSync(packageFile(path), "utf8");
  } catch (error) {
    throw notLoaded(error);
  }
}
