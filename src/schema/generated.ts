// Validators that the build makes of the package's own schemas. They are found by the content of a schema, so a schema that
// was changed, or is somebody else's, has none.

import { createHash } from "node:crypto";
import type { ValidateFunction } from "ajv";
import { packageFile } from "../core/package-files.js";
import type { JsonObject } from "../core/ports/adapter.js";

/** The name of the module that validates a schema: 32 hex digits. */
export const schemaDigest = (schema: JsonObject): string =>
  createHash("sha256").update(JSON.stringify(schema)).digest("hex").slice(0, 32);

/** The validator that was generated for a schema; `undefined` where there is none. */
export async function loadGenerated(schema: JsonObject): Promise<ValidateFunction | undefined> {
  const module = packageFile(`dist/schema/validators/${schemaDigest(schema)}.js`);
  try {
    return ((await import(module.href)) as { validate: ValidateFunction }).validate;
  } catch (error) {
    if (/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
