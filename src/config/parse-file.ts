// Parses and completes the `file` key of a configuration: roots and limits.

import type { FileConfig, RootConfig } from "../core/file-config.js";
import { attempt } from "../core/io.js";
import { fieldsOf } from "../core/unknown.js";
import { isDriveName } from "../drive/dlfs/name.js";
import { isEncodingName } from "../ops/content/encoding.js";
import { compileDeny } from "../path/deny.js";
import { parsePath } from "../path/grammar.js";
import type { JsonSchema } from "./checks/check-schema.js";
import { checkValue, type Place, placeBelow, report, type SchemaCheck } from "./checks/check-schema.js";
import { ConfigError } from "./errors.js";
import type { CheckedFile, CheckedRoot, HostRootInput } from "./types.js";

/** Options for parsing the file adapter's part of a config. */
export interface FileParseOptions {
  /** Absolute base directory of relative paths. */
  readonly baseDir: string;
  /** Roots given by `--root`, with absolute paths; ordered after those of the config. */
  readonly extraRoots?: Readonly<Record<string, HostRootInput>> | undefined;
}

const FILE: JsonSchema = { $ref: "#/$defs/file" };
const ROOT: JsonSchema = { $ref: "#/$defs/root" };

/** Name of the default temp root, used if no root is configured. */
export const DEFAULT_ROOT = "tmp";
const TEMP_QUOTA = { bytes: 2 ** 30 };

/** Checks and completes a file adapter's config outside a venue. @throws ConfigError */
export function parseFile(document: JsonSchema, value: unknown, options: FileParseOptions): FileConfig {
  const check: SchemaCheck = { document, above: [], hiddenKeys: 1, baseDir: options.baseDir, problems: [] };
  const place: Place = { check, path: ["file"] };
  const checked = checkValue(place, FILE, value) as CheckedFile | undefined;
  const extraRoots = parseExtraRoots(place, checked?.roots, options);
  if (checked === undefined || check.problems.length > 0) throw new ConfigError(check.problems, 78);
  return deepFreeze(completeFile(place, { ...checked, roots: joinRoots(checked.roots, extraRoots) }));
}

/** Checks drive roots, and roots of `--root` against those of the config; adds problems to the check. */
export function parseExtraRoots(
  file: Place,
  configured: Readonly<Record<string, unknown>> | undefined,
  options: FileParseOptions,
): CheckedFile["roots"] {
  checkOptions(file, configured);
  const { roots } = checkValue(file, FILE, { roots: options.extraRoots }) as CheckedFile;
  for (const name of Object.keys(roots)) {
    if (configured === undefined || !Object.hasOwn(configured, name)) continue;
    file.check.problems.push(`Root '${name}' is given twice: in the config and by --root`);
  }
  return roots;
}

/** All roots in order, in an object without prototype, so that names such as `__proto__` are safe. */
export function joinRoots(configured: CheckedFile["roots"], extra: CheckedFile["roots"]): CheckedFile["roots"] {
  return Object.assign(Object.create(null), configured, extra);
}

/** The final form of a file adapter's part without problems. */
export function completeFile(place: Place, file: CheckedFile): FileConfig {
  const given = Object.keys(file.roots).length > 0 ? file.roots : { [DEFAULT_ROOT]: parseRoot(place, { temp: true }) };
  const roots: Record<string, RootConfig> = Object.create(null);
  for (const [name, root] of Object.entries(given)) {
    const checked = typeof root === "string" ? parseRoot(place, { path: root }) : root;
    roots[name] = completeRoot(name, checked);
  }
  return { ...file, roots };
}

/** Fills in the defaults of a valid root. */
function parseRoot(place: Place, root: unknown): CheckedRoot {
  return checkValue(placeBelow(place, "roots"), ROOT, root) as CheckedRoot;
}

function completeRoot(name: string, root: CheckedRoot): RootConfig {
  // `grep` is accepted but has no effect: there is only one search engine.
  const { path, temp, prefix, dlfs, durability, grep, shared, perInstance, ...common } = root;
  if (dlfs !== undefined) return completeDrive(dlfs, root);
  return path === undefined
    ? {
        ...{ kind: "temp", prefix: prefix ?? `covia-${name}-`, durability: durability ?? "none" },
        ...{ quota: TEMP_QUOTA, ...common },
        ...(perInstance && { perInstance }),
      }
    : { kind: "host", path, durability: durability ?? "flush", ...common, ...(shared && { shared }) };
}

function completeDrive(
  drive: string,
  { subpath, readOnly, description, maxReadBytes, deny, protect, approve, encoding }: CheckedRoot,
): RootConfig {
  return {
    ...{ kind: "dlfs", drive, readOnly, deny, protect, encoding },
    ...(subpath === undefined ? {} : { subpath: parsePath("", subpath).segments }),
    ...(description === undefined ? {} : { description }),
    ...(maxReadBytes === undefined ? {} : { maxReadBytes }),
    ...(approve === undefined ? {} : { approve }),
  };
}

/** Freezes a plain value recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** Rules of options of roots that the schema cannot state: the fault of a value. */
const OPTION_RULES: Readonly<Record<string, (value: string) => string | undefined>> = {
  dlfs: (drive) => (isDriveName(drive) ? undefined : "the name of a drive: at most 128 bytes"),
  subpath: subpathFault,
  deny: faultOf,
  protect: faultOf,
  encoding: (name) =>
    name === "" || isEncodingName(name) ? undefined : "the name of a text encoding, such as utf-8 or latin1",
};

/** @param roots possibly incomplete */
function checkOptions(file: Place, roots: Readonly<Record<string, unknown>> = {}): void {
  for (const [option, faultIn] of Object.entries(OPTION_RULES)) {
    for (const [name, root] of Object.entries(roots)) {
      const place = placeBelow(file, "roots", name, option);
      const value = fieldsOf(root)[option];
      for (const [index, one] of (Array.isArray(value) ? value : [value]).entries()) {
        const fault = typeof one === "string" ? faultIn(one) : undefined;
        if (fault !== undefined) report(Array.isArray(value) ? placeBelow(place, index) : place, `must be ${fault}`);
      }
    }
  }
}

function subpathFault(subpath: string): string | undefined {
  const fault = "a relative path of a directory, without '..'";
  if (subpath.startsWith("/") || subpath.split("/").includes("..")) return fault;
  return (attempt(() => parsePath("", subpath).segments.length) ?? 0) > 0 ? undefined : fault;
}

function faultOf(pattern: string): string | undefined {
  try {
    compileDeny([pattern], { foldsCase: true });
    return undefined;
  } catch (error) {
    return `a glob: ${error instanceof Error ? error.message : "it does not compile"}`;
  }
}
