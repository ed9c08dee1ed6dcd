// Loads the JSON schemas of operations.

import { readFileSync } from "node:fs";
import { packageFile } from "../core/package-files.js";
import type { OperationMetadata } from "../core/ports/adapter.js";

/** Content of `schemas/<adapter>/<operation>.json`. */
export type OperationSchema = Pick<OperationMetadata, "title" | "description" | "input" | "output">;

/** Each schema is read once a process: reading them all takes longer than the rest of opening an adapter. */
const loaded = new Map<string, OperationSchema>();

/** The schema of an operation, shared by all who ask: not to be changed. @param name without the adapter's name: `read` */
export function loadOperationSchema(name: string, adapter = "file"): OperationSchema {
  const path = `schemas/${adapter}/${name}.json`;
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const schema = parseOperationSchema(JSON.parse(readFileSync(packageFile(path), "utf8")));
  loaded.set(path, schema);
  return schema;
}

function parseOperationSchema(value: unknown): OperationSchema {
  return value as OperationSchema;
}
