// Pairs operations with their schemas, and describes them to surfaces.

import type { OperationMetadata } from "../core/ports/adapter.js";
import type { AnyOperation } from "../core/ports/operation.js";
import type { RegisteredOperation } from "../dispatch/options.js";
import { loadOperationSchema } from "../schema/load.js";

/** Operations with their schemas, each read when it is first needed. @param adapter name of the schema folder */
export const withSchemas = (adapter: string, operations: readonly AnyOperation[]): readonly RegisteredOperation[] =>
  operations.map((operation) => ({
    operation,
    get schema() {
      return loadOperationSchema(operation.name, adapter);
    },
  }));

/** Operations that only internal code calls: the compiler checks their input, so they need no schema. */
export const withoutSchemas = (operations: readonly AnyOperation[]): readonly RegisteredOperation[] =>
  operations.map((operation) => ({
    operation,
    schema: { title: operation.name, description: "", input: { type: "object" }, output: { type: "object" } },
  }));

/** Operations by dispatch name, such as `file:read`. */
export const byDispatchName = (
  adapter: string,
  registered: readonly RegisteredOperation[],
): ReadonlyMap<string, RegisteredOperation> =>
  new Map(registered.map((one) => [`${adapter}:${one.operation.name}`, one]));

/** The public metadata of an operation. */
export function describe(adapter: string, { operation, schema }: RegisteredOperation): OperationMetadata {
  return {
    name: `${adapter}:${operation.name}`,
    toolName: `${adapter}_${operation.name.replaceAll("-", "_")}`,
    title: schema.title,
    description: schema.description,
    ability: operation.ability,
    ...(operation.also === undefined ? {} : { also: operation.also }),
    changes: operation.changes,
    annotations: operation.annotations,
    input: schema.input,
    output: schema.output,
    hidden: operation.hidden ?? [],
    ...(operation.hiddenOutput === undefined ? {} : { hiddenOutput: operation.hiddenOutput }),
    ...(operation.givesBytes === undefined ? {} : { givesBytes: operation.givesBytes }),
    ...(operation.modelDefaults === undefined ? {} : { modelDefaults: operation.modelDefaults }),
    ...(operation.render === undefined ? {} : { render: operation.render.bind(operation) }),
    ...(operation.renderFields === undefined ? {} : { renderFields: operation.renderFields }),
  };
}
