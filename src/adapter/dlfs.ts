// The adapters for drives: `dlfs` (files in drives) and `drive` (whole drives as bytes). A call reaches only the
// caller's own drives.

import type { DriveSource } from "../backend/drive/drive.js";
import { notSupportedHere } from "../core/errors/texts.js";
import type { Adapter, OperationMetadata, Rendering } from "../core/ports/adapter.js";
import type { AnyOperation, RootFacts } from "../core/ports/operation.js";
import { fieldsOf } from "../core/unknown.js";
import { Dispatcher } from "../dispatch/dispatch.js";
import type { DispatchOptions, RegisteredOperation } from "../dispatch/options.js";
import { DRIVE_OPERATIONS, DRIVE_STREAM_OPERATIONS, KEY_OPERATIONS, TRANSFER_OPERATIONS } from "../ops/registry.js";
import { driveNamed } from "../roots/drive-root.js";
import { byDispatchName, describe, withoutSchemas, withSchemas } from "./metadata.js";

const adaptersOf = ({ allowKeyExport = false }: DriveAdapterRules): readonly DriveAdapterFacts[] => [
  {
    name: "dlfs",
    description: "Drives of the caller's own: list, create, delete, and the files in them.",
    operations: DRIVE_OPERATIONS,
    hidden: DRIVE_STREAM_OPERATIONS,
  },
  {
    name: "drive",
    description: "The caller's own drives as bytes: export, import, verify.",
    operations: allowKeyExport ? [...TRANSFER_OPERATIONS, ...KEY_OPERATIONS] : TRANSFER_OPERATIONS,
  },
];

interface DriveAdapterFacts {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly AnyOperation[];
  /** Operations that only surfaces of this package run. */
  readonly hidden?: readonly AnyOperation[];
}

/** The operator's settings for drives. */
export interface DriveAdapterRules {
  /** Callers may export the key that signs their drives. Default: no. */
  readonly allowKeyExport?: boolean;
}

export interface DriveAdapterParts
  extends Omit<DispatchOptions, "adapterName" | "operations" | "roots" | "drives" | "discloseHostPaths"> {
  /** Absent: every call that opens a drive fails with NOT_SUPPORTED. */
  readonly source: DriveSource | undefined;
  /** Name and rules of the root by which the operator offers a drive, if it asks a person. */
  readonly asking?: (drive: string) => Pick<RootFacts, "name" | "approve" | "subpath"> | undefined;
}

/** Creates the adapters `dlfs` and `drive`. In file operations the input has `drive` in place of `root`. */
export const createDriveAdapters = (parts: DriveAdapterParts, rules: DriveAdapterRules = {}): readonly Adapter[] =>
  adaptersOf(rules).map((facts) => createAdapter(facts, parts));

function createAdapter(
  { name, description, operations, hidden = [] }: DriveAdapterFacts,
  { source, asking, ...parts }: DriveAdapterParts,
): Adapter {
  const registered = withSchemas(name, operations);
  const dispatcher = new Dispatcher({
    ...parts,
    adapterName: name,
    operations: byDispatchName(name, [...registered, ...withoutSchemas(hidden)]),
    roots: [],
    discloseHostPaths: false,
    drives: {
      root: (drive) => driveNamed(drive, source, { asking: asking?.(drive) }),
      async shelf(owner) {
        if (source === undefined) throw notSupportedHere("drives");
        return source.of(owner);
      },
    },
  });
  return {
    name,
    description,
    operations: registered.map((one) => describeOnDrive(name, one)),
    invoke: (operation, input, context) => dispatcher.invoke(operation, input, context ?? {}),
    close: () => dispatcher.close(),
  };
}

/** Renderings expect `root` in the input and write `venue:` URIs: translates both. */
function describeOnDrive(adapter: string, registered: RegisteredOperation): OperationMetadata {
  const { render, ...metadata } = describe(adapter, registered);
  if (render === undefined) return metadata;
  return { ...metadata, render: (output, input) => onDrive(render(output, withRoot(input))) };
}

const withRoot = (input: unknown): unknown => {
  const { drive, ...rest } = fieldsOf(input);
  return { ...rest, root: drive };
};

function onDrive(rendering: Rendering): Rendering {
  if (rendering.kind === "blob") return { ...rendering, uri: rendering.uri.replace(/^venue:/, "dlfs:") };
  const { note } = rendering;
  // The note may name a tool for the next call: the one of this adapter.
  return note === undefined ? rendering : { ...rendering, note: note.replace(/\bfile_/g, "dlfs_") };
}
