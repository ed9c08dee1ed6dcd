// Binds the tools of a profile to one root and prefix: every path is confined to the prefix, and no answer or error
// shows it.

import type { PathRules } from "../core/call/path.js";
import { adapterError, FileAdapterError } from "../core/errors/errors.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { ExecRequest, SandboxProcess } from "../core/ports/sandbox.js";
import { fieldsOf } from "../core/unknown.js";
import { parsePath } from "../path/grammar.js";
import type { FileInputs, FileOutputs } from "../schema/types.js";
import type { BoundOperation, BoundRoot, BoundWishes, Profile, ProfileHost } from "./profile.js";

/** Root and prefix that a profile is bound to. */
export interface Bound {
  readonly root: string;
  /** Segments of the directory that the tools see. */
  readonly prefix: readonly string[];
  /** Its path. */
  readonly prefixPath: string;
  readonly links: Profile["links"];
  /** Clone the directory before each command. */
  readonly snapshot?: boolean | undefined;
}

/** Results for a prefix that does not exist. */
const EMPTY: { readonly [Name in BoundOperation]?: FileOutputs[Name] } = {
  "file:list": { entries: [], total: 0, truncated: false, complete: true },
  "file:glob": { paths: [], totalMatches: 0, countIsComplete: true, timedOut: false, complete: true },
  "file:grep": {
    ...{ matches: [], filesScanned: 0, totalMatches: 0 },
    ...{ countIsComplete: true, timedOut: false, complete: true },
  },
};

interface CallParts {
  readonly host: ProfileHost;
  readonly bound: Bound;
  readonly context: SurfaceContext;
  /** Name recorded in the audit. */
  readonly tool: string;
}

/** A bound root that counts its operations. */
export class CountedRoot implements BoundRoot {
  /** Operations started so far. */
  calls = 0;
  readonly #parts: CallParts;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  get root(): string {
    return this.#parts.bound.root;
  }

  get isCancelled(): boolean {
    const { cancellation, signal } = this.#parts.context;
    return cancellation?.aborted ?? signal?.aborted ?? false;
  }

  get report(): SurfaceContext["report"] {
    return this.#parts.context.report;
  }

  get readOnly(): boolean {
    return this.#parts.host.roots.some(({ name, readOnly }) => name === this.root && readOnly);
  }

  async exec(request: Omit<ExecRequest, "mounts">, at: string): Promise<SandboxProcess> {
    const { host, bound } = this.#parts;
    const { root, prefixPath: prefix, snapshot = false } = bound;
    this.calls++;
    const mount = { root, at, ...(prefix === "" ? {} : { prefix }) };
    try {
      return await host.exec({ ...request, mounts: [mount], snapshot }, { ...this.#contextOf({}), report: undefined });
    } catch (error) {
      throw error instanceof FileAdapterError ? withoutPrefix(error, bound) : error;
    }
  }

  async invoke<Name extends BoundOperation>(
    operation: Name,
    input: Omit<FileInputs[Name], "root">,
    wishes: BoundWishes = {},
  ): Promise<FileOutputs[Name]> {
    const { host, bound } = this.#parts;
    const { root, prefixPath } = bound;
    const path = rootPath(bound, input.path ?? "");
    this.calls++;
    try {
      const given = await host.invoke(operation, { ...input, root, path }, this.#contextOf(wishes));
      // The operation's schema guarantees the type.
      const output = given as FileOutputs[Name];
      return prefixPath === "" ? output : toSessionPaths(output, bound, path);
    } catch (error) {
      if (prefixPath === "" || !(error instanceof FileAdapterError)) throw error;
      const isMissing = error.code === "NOT_FOUND" && path === prefixPath;
      const empty: FileOutputs[Name] | undefined = isMissing ? EMPTY[operation] : undefined;
      if (empty !== undefined) return empty;
      throw withoutPrefix(error, bound);
    }
  }

  /** The caller's budget is dropped, since a profile has its own limits. */
  #contextOf({ terms, removesFilesOnly }: BoundWishes): SurfaceContext {
    const { bound, context, tool } = this.#parts;
    const floor = bound.prefix.length;
    const pathRules: PathRules = removesFilesOnly === undefined ? { floor } : { floor, removesFilesOnly };
    const links = bound.links === "refuse" ? bound.links : undefined;
    // A path below a prefix names no root, least of all a place outside of it.
    const exact = floor === 0 ? {} : ({ exactPaths: true } as const);
    return { ...context, tool, budget: undefined, pathRules, links, terms, ...exact };
  }
}

/** Converts a tool's path to a path of the root. Normalised first, so that `..` cannot lead above the prefix. */
function rootPath({ root, prefixPath }: Bound, path: string): string {
  if (prefixPath === "") return path;
  const below = parsePath(root, path).segments.join("/");
  return below === "" ? prefixPath : `${prefixPath}/${below}`;
}

function shorten({ prefixPath }: Bound, path: string): string {
  return path.startsWith(prefixPath) && path[prefixPath.length] === "/" ? path.slice(prefixPath.length + 1) : "";
}

/** Rewrites the paths of a result relative to the prefix. @param path the path of the operation */
function toSessionPaths<Output extends FileOutputs[BoundOperation]>(
  output: Output,
  bound: Bound,
  path: string,
): Output {
  if ("exists" in output && output.exists === false && path === bound.prefixPath) {
    return { ...output, exists: true, type: "directory", size: 0, modified: 0, readOnly: false };
  }
  if ("totalMatches" in output) return { ...output, ...shortenResults(output, bound) };
  return "path" in output ? { ...output, path: shorten(bound, output.path) } : output;
}

function shortenResults(
  { matches, paths, counts }: Partial<FileOutputs["file:grep"]>,
  bound: Bound,
): Partial<FileOutputs["file:grep"]> {
  const short = <T extends { readonly path: string }>(one: T): T => ({ ...one, path: shorten(bound, one.path) });
  return {
    ...(matches === undefined ? {} : { matches: matches.map(short) }),
    ...(paths === undefined ? {} : { paths: paths.map((path) => shorten(bound, path)) }),
    ...(counts === undefined ? {} : { counts: counts.map(short) }),
  };
}

/**
 * Removes the prefix from `data`. The message may still contain it: profiles build their own texts from code and data.
 */
function withoutPrefix(error: FileAdapterError, bound: Bound): FileAdapterError {
  if (bound.prefixPath === "") return error;
  const { code, message, data } = error;
  const { path, required } = data;
  return adapterError(code, message, {
    ...data,
    ...(typeof path === "string" ? { path: shorten(bound, path) } : {}),
    ...(isRequired(required) ? { required: { ...required, with: elide(bound, required.with) } } : {}),
  });
}

const isRequired = (value: unknown): value is { readonly with: string } => typeof fieldsOf(value)["with"] === "string";

/** Replaces the prefix in a resource URI with `…`; merely removing it would name a different resource. */
function elide({ root, prefixPath }: Bound, resource: string): string {
  const top = `file://${root}`;
  const hidden = `${top}/${prefixPath}`;
  return resource === hidden || resource.startsWith(`${hidden}/`)
    ? `${top}/…${resource.slice(hidden.length)}`
    : resource;
}
