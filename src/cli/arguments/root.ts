import { resolve } from "node:path";
import { expectation, matches, resolveRef } from "../../config/checks/json-schema.js";
import { ConfigError } from "../../config/errors.js";
import { readConfigSchema } from "../../config/load.js";
import type { HostRootInput } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";

const EXAMPLE = "for example --root docs=./docs or --root docs=./docs:ro";

/** A root given on the command line. */
export interface RootArgument {
  readonly name: string;
  /** `path` is absolute. */
  readonly root: HostRootInput;
}

/**
 * Parses one `--root` option: `NAME=PATH`, or `NAME=PATH:ro` for a read-only root. Only the last `:ro` is an option, so
 * a directory whose name ends in `:ro` is written `NAME=PATH:ro:ro`, or read-write `NAME=PATH:ro/`.
 *
 * @param cwd absolute base directory of relative paths
 * @throws ConfigError
 * @example
 * parseRootArgument("docs=./docs:ro", "/srv"); // { name: "docs", root: { path: "/srv/docs", readOnly: true } }
 */
export function parseRootArgument(text: string, cwd: string): RootArgument {
  const equals = text.indexOf("=");
  const name = text.slice(0, Math.max(0, equals));
  const readOnly = text.endsWith(":ro");
  const path = text.slice(equals + 1, readOnly ? -":ro".length : undefined);
  if (equals < 1 || path === "") throw unreadable(text, `expected NAME=PATH or NAME=PATH:ro, ${EXAMPLE}`);

  const schema = readConfigSchema();
  const nameSchema = resolveRef(schema, { $ref: "#/$defs/rootName" });
  if (!matches(nameSchema, name)) {
    throw unreadable(text, `the name must be ${expectation(schema, nameSchema)}, ${EXAMPLE}`);
  }
  return { name, root: { path: resolve(cwd, path), readOnly } };
}

/**
 * Parses all `--root` options of a command line into the `extraRoots` of `parseConfig`.
 *
 * @throws ConfigError with every problem found
 */
export function parseRootArguments(texts: readonly string[], cwd: string): Readonly<Record<string, HostRootInput>> {
  const roots: Record<string, HostRootInput> = Object.create(null);
  const problems: string[] = [];
  for (const text of texts) {
    try {
      const { name, root } = parseRootArgument(text, cwd);
      if (Object.hasOwn(roots, name)) problems.push(`Root '${name}' is given twice by --root`);
      else roots[name] = root;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems, 78);
  return roots;
}

function unreadable(text: string, reason: string): ConfigError {
  return new ConfigError([`Cannot read --root '${escapeText(text)}': ${reason}`], 78);
}
