// Calls on the file adapter of a configuration, and on a profile, opened in this process.

import type { VenueConfig } from "../../config/types.js";
import { unknownOperation } from "../../core/errors/texts.js";
import type { ResolveAsset } from "../../core/ports/adapter.js";
import { OPERATIONS } from "../../ops/registry.js";
import type { FileOutputs } from "../../schema/types.js";
import { createJobIds } from "../../venue/jobs/record.js";
import { type OpenFilesOptions, openFiles } from "../../venue/start/open-files.js";
import type { FileCalls } from "./venue-calls.js";

/** Asset reference that stands for the content of an upload. */
const CONTENT = "content";

export interface FileCallsOptions extends OpenFilesOptions {
  /** Narrows every call. */
  readonly caps: readonly unknown[] | undefined;
  /** Cancels running calls. */
  readonly signal: AbortSignal;
}

/** Opens the file adapter in this process. @throws ConfigError */
export async function openFileCalls(config: VenueConfig, options: FileCallsOptions): Promise<FileCalls> {
  const { caps, signal, ...opening } = options;
  const opened = await openFiles(config, opening);
  const nextId = createJobIds();
  const own = { ...opened.context, surface: "cli", signal, ...(caps === undefined ? {} : { caps }) };
  const run = async (reference: string, input: unknown, resolveAsset?: ResolveAsset): Promise<unknown> => {
    const name = reference.replace(/^\//, "").replace(/^v\/ops\/([^/]+)\//, "$1:");
    const adapter = isFileOperation(name)
      ? opened.adapter
      : opened.tools.find(({ operations }) => operations.some((one) => one.name === name));
    if (adapter === undefined) throw unknownOperation(reference);
    const context = { ...own, jobId: nextId(Date.now()) };
    return adapter.invoke(name, input, resolveAsset === undefined ? context : { ...context, resolveAsset });
  };
  return {
    run: (operation, input) => run(operation, input),
    upload: async (input, content) =>
      (await run("file:write", { ...input, asset: CONTENT }, async () => ({ content }))) as FileOutputs["file:write"],
    operations: async () =>
      [opened.adapter, ...opened.tools].flatMap(({ operations }) => operations.map(({ name }) => name)),
    close: opened.close,
  };
}

/** By name: the schemas of all operations would be read otherwise. */
const isFileOperation = (name: string): boolean => OPERATIONS.some((one) => `file:${one.name}` === name);
