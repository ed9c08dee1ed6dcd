// Loads the JSON schemas of operations.

import { readFileSync } from "node:fs";
import { packageFile } from "../core/package-files.js";
import type { JsonObject } from "../core/ports/adapter.js";

/** Content of `schemas/<adapter>/<operation>.json`. */
export interface OperationSchema {
  readonly title: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** Reads the schema of an operation. @param name without the adapter's name: `read` */
export function loadOperationSchema(name: string, adapter = "file"): OperationSchema {
  return parseOperationSchema(JSON.parse(readFileSync(packageFile(`schemas/${adapter}/${name}.json`), "utf8")));
}

function parseOperationSchema(value: unknown): OperationSchema {
  return value as OperationSchema;
}
