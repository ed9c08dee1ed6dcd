// The adapter `archive`: its operations work on the roots of the file adapter, by whose dispatcher they run.

import type { Adapter } from "../core/ports/adapter.js";
import type { Dispatcher } from "../dispatch/dispatch.js";
import type { RegisteredOperation } from "../dispatch/options.js";
import { ARCHIVE_OPERATIONS } from "../ops/registry.js";
import { byDispatchName, describe, withSchemas } from "./metadata.js";

const NAME = "archive";

export const archiveOperations = (): ReadonlyMap<string, RegisteredOperation> =>
  byDispatchName(NAME, withSchemas(NAME, ARCHIVE_OPERATIONS));

export function createArchiveAdapter(dispatcher: Pick<Dispatcher, "invoke">): Adapter {
  return {
    name: NAME,
    description: "Archives in the roots: list, extract, make.",
    operations: withSchemas(NAME, ARCHIVE_OPERATIONS).map((one) => describe(NAME, one)),
    invoke: (operation, input, context) => dispatcher.invoke(operation, input, context ?? {}),
    // The dispatcher closes with the file adapter.
    async close() {},
  };
}
