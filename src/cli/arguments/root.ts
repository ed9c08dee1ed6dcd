// Parses `--root` and bare folder arguments.

import { basename, resolve } from "node:path";
import { expectation, matches, resolveRef } from "../../config/checks/check-schema.js";
import { ConfigError } from "../../config/errors.js";
import { expandHome } from "../../config/home.js";
import { readConfigSchema } from "../../config/load.js";
import type { HostRootInput, VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import type { RootConfig } from "../../core/file-config.js";
import { isWindows } from "../../core/system.js";

const EXAMPLE = "for example --root docs=./docs or --root ./docs:ro";

const NAMED = /^([^/=]*)=(.*)$/s;
const NAMED_ON_WINDOWS = /^([^/\\:=]*)=(.*)$/s;

/** A root given on the command line. */
interface RootArgument {
  /** `undefined`: to be derived from the folder's. */
  readonly name: string | undefined;
  /** `path` is absolute. */
  readonly root: HostRootInput;
}

/**
 * Parses one `--root` option: `NAME=PATH` or just `PATH`, followed by `:ro` for a read-only root. Text before the
 * first `=` is a name unless it holds a slash, on Windows also a backslash or a colon. Only the last `:ro` is an option,
 * so a directory whose name ends in `:ro` is written `NAME=PATH:ro:ro`, or read-write `NAME=PATH:ro/`.
 *
 * @param cwd absolute base directory of relative paths
 * @throws ConfigError
 * @example
 * parseRootArgument("docs=./docs:ro", "/srv"); // { name: "docs", root: { path: "/srv/docs", readOnly: true } }
 */
export function parseRootArgument(text: string, cwd: string): RootArgument {
  const [named = "", given = text] = (isWindows() ? NAMED_ON_WINDOWS : NAMED).exec(text)?.slice(1) ?? [];
  const isNamed = given !== text;
  const { path, readOnly } = splitReadOnly(given);
  if (path === "" || (isNamed && named === "")) throw invalidArgument(text, `expected PATH or NAME=PATH, ${EXAMPLE}`);
  const root = { path: resolve(cwd, expandHome(path)), readOnly };
  if (!isNamed) return { name: undefined, root };

  const schema = readConfigSchema();
  const nameSchema = resolveRef(schema, { $ref: "#/$defs/rootName" });
  if (!matches(nameSchema, named)) {
    throw invalidArgument(text, `the name must be ${expectation(schema, nameSchema)}, ${EXAMPLE}`);
  }
  return { name: named, root };
}

function splitReadOnly(given: string): { readonly path: string; readonly readOnly: boolean } {
  const readOnly = given.endsWith(":ro");
  return { path: given.slice(0, readOnly ? -":ro".length : undefined), readOnly };
}

/** Most characters of a derived name, which leaves room for a number. */
const MAX_NAME_CHARS = 58;

/**
 * A root name from that of a folder: what a name cannot hold becomes `-`. Numbered where the name is taken: `docs-2`.
 *
 * @param path absolute
 * @param prefix what the name begins with; itself the beginning of a name
 */
export function nameOfFolder(path: string, taken: (name: string) => boolean, prefix = ""): string {
  const plain = basename(path).replace(/[^A-Za-z0-9._-]+/g, "-");
  const name = `${prefix}${plain.replace(/^[^A-Za-z0-9]+/, "") || "root"}`.slice(0, MAX_NAME_CHARS);
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}-${number}`;
    if (!taken(numbered)) return numbered;
  }
}

interface RootsOptions {
  /** Folders without a name; `:ro` at the end of one makes it read-only, as in `--root`. */
  readonly folders?: readonly string[];
  /** Patterns of what every one of these roots protects. */
  readonly protect?: readonly string[];
}

/**
 * Parses all `--root` options of a command line into the `extraRoots` of `parseConfig`.
 *
 * @throws ConfigError with every problem found
 */
export function parseRootArguments(
  texts: readonly string[],
  cwd: string,
  { folders = [], protect = [] }: RootsOptions = {},
): Readonly<Record<string, HostRootInput>> {
  const given: RootArgument[] = [];
  const problems: string[] = [];
  for (const text of texts) {
    try {
      given.push(parseRootArgument(text, cwd));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  const names = given.flatMap(({ name }) => name ?? []);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) < index));
  problems.push(...[...twice].map((name) => `Root '${name}' is given twice by --root`));
  if (problems.length > 0) throw new ConfigError(problems, 78);
  const roots: Record<string, HostRootInput> = Object.create(null);
  const isTaken = (name: string): boolean => names.includes(name) || Object.hasOwn(roots, name);
  for (const { name, root } of given)
    roots[name ?? nameOfFolder(root.path, isTaken)] = protect.length === 0 ? root : { ...root, protect };
  for (const folder of folders) {
    const { path: given, readOnly } = splitReadOnly(folder);
    const path = resolve(cwd, expandHome(given));
    roots[nameOfFolder(path, isTaken)] = { path, readOnly, protect };
  }
  return roots;
}

function invalidArgument(text: string, reason: string): ConfigError {
  return new ConfigError([`Cannot read --root '${escapeText(text)}': ${reason}`], 78);
}

/** `--deny`, `--protect` and `--read-only`: restrictions of every root of the command, those of the configuration too. */
export interface RootGuards {
  readonly deny: readonly string[];
  readonly protect: readonly string[];
  readonly readOnly: boolean;
}

/** Restricts every root of a venue further; nothing that the configuration restricts is lifted. */
export function withGuards(config: VenueConfig, { deny, protect, readOnly }: RootGuards): VenueConfig {
  const guarded = (root: RootConfig): RootConfig => ({
    ...root,
    readOnly: root.readOnly || readOnly,
    deny: [...root.deny, ...deny],
    protect: [...root.protect, ...protect],
  });
  const roots: Record<string, RootConfig> = Object.create(null);
  for (const [name, root] of Object.entries(config.file.roots)) roots[name] = guarded(root);
  return { ...config, file: { ...config.file, roots } };
}
