import type { Annotations, Rendering, ResolveAsset } from "./adapter.js";
import type { Access, Backend, RootKind } from "./backend.js";
import type { Ability } from "./capability.js";
import type { Awaitable } from "./io.js";
import type { Limits, ReadBudget } from "./limits.js";
import type { RelPath } from "./path.js";
import type { Cancellation } from "./scope.js";

/** A named tree the operator configured, opened. */
export interface Root {
  readonly name: string;
  readonly kind: RootKind;
  readonly readOnly: boolean;
  readonly description?: string;
  /** Canonical host path; only `file:roots` may show it, where the operator allows that. */
  readonly hostPath?: string;
  /** Most bytes one read in this root returns; absent: the limit of the adapter. */
  readonly maxReadBytes?: number;
  /** DID of whoever owns it, where that was configured. */
  readonly owner?: string;
  /** What keeps paths inside it, for the operator. */
  readonly engine?: string;
  /** The file system it is on: bytes in all, and bytes still to be had. */
  usage?(): Promise<{ readonly sizeBytes: number; readonly freeBytes: number }>;
  readonly backend: Backend;
}

/** What every operation knows of its call. */
export interface Call {
  readonly limits: Limits;
  readonly budget: ReadBudget | undefined;
  readonly resolveAsset: ResolveAsset | undefined;
  readonly cancellation: Cancellation | undefined;
}

/** The call of an operation on a path: resolved as far as text goes, and authorised. */
export interface PathCall extends Call {
  readonly root: Root;
  readonly path: RelPath;
  readonly access: Access;
}

/** The call of an operation on the roots themselves. */
export interface RootsCall extends Call {
  /** The roots in which the caller holds any grant. */
  readonly visible: readonly Root[];
  readonly discloseHostPaths: boolean;
}

interface OperationBase<Input, Output> {
  /** Without the adapter's name: `read`; also the name of its schema. */
  readonly name: string;
  readonly ability: Ability;
  /** Whether it changes anything; read-only roots refuse it. */
  readonly changes: boolean;
  readonly annotations: Annotations;
  /** Input fields whose values are file content. */
  readonly hidden?: readonly string[];
  /** What the schema cannot say. @throws INVALID_INPUT */
  check?(input: Input): void;
  /** File bytes that went in or out, for the audit. */
  bytes?(output: Output): number;
  /** Present when the answer has a body or a long list. */
  render?(output: Output, input: Input): Rendering;
}

/** One operation: one file in `ops/`, one schema, one test, one line in the registry. */
export type Operation<Input, Output> =
  | (OperationBase<Input, Output> & { readonly on: "path"; run(input: Input, call: PathCall): Awaitable<Output> })
  | (OperationBase<Input, Output> & { readonly on: "roots"; run(input: Input, call: RootsCall): Awaitable<Output> });

/** An operation whose input has passed its own schema, and whose output is nobody's business but the caller's. */
export type AnyOperation = Operation<unknown, unknown>;

/** Hints of an operation that only looks. */
export const LOOKS: Annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
