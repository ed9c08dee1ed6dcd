import { readFileSync } from "node:fs";
import type { JsonObject } from "../core/adapter.js";

/** What `schemas/file/<operation>.json` says of one operation. */
export interface OperationSchema {
  readonly title: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

/** Reads the schema of a file operation. @param name without the adapter's name: `read` */
export function loadOperationSchema(name: string): OperationSchema {
  return parseOperationSchema(
    JSON.parse(readFileSync(new URL(`../../schemas/file/${name}.json`, import.meta.url), "utf8")),
  );
}

function parseOperationSchema(value: unknown): OperationSchema {
  return value as OperationSchema;
}
