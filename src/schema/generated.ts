// Validators that the build makes of the package's own schemas. They are found by the content of a schema, so a schema that
// was changed, or is somebody else's, has none.

import { createHash } from "node:crypto";
import type { ValidateFunction } from "ajv";
import { notLoaded } from "../core/errors/texts.js";
import { packageFile } from "../core/package-files.js";
import type { JsonObject } from "../core/ports/adapter.js";
import { codeOf } from "../core/unknown.js";

/** The name of the module that validates a schema: 32 hex digits. */
export const schemaDigest = (schema: JsonObject): string =>
  createHash("sha256").update(JSON.stringify(schema)).digest("hex").slice(0, 32);

/** Failed imports by digest. Node keeps the failure of an import for as long as it runs, so another try needs another URL. */
const failures = new Map<string, number>();

/**
 * The validator that was generated for a schema; `undefined` where there is none.
 * @throws IO_ERROR where it cannot be read now; the next call tries again
 */
export async function loadGenerated(schema: JsonObject): Promise<ValidateFunction | undefined> {
  const digest = schemaDigest(schema);
  const module = packageFile(`dist/schema/validators/${digest}.js`);
  const failed = failures.get(digest) ?? 0;
  if (failed > 0) module.search = `?try=${failed}`;
  try {
    return ((await import(module.href)) as { validate: ValidateFunction }).validate;
  } catch (error) {
    if (/MODULE_NOT_FOUND$/.test(String(codeOf(error)))) return undefined;
    failures.set(digest, failed + 1);
    throw notLoaded(error);
  }
}
