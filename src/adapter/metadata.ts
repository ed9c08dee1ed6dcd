import type { OperationMetadata } from "../core/ports/adapter.js";
import type { AnyOperation } from "../core/ports/operation.js";
import type { RegisteredOperation } from "../dispatch/options.js";
import { loadOperationSchema } from "../schema/load.js";

/** Operations with their schemas. @param adapter whose they are: the folder of the schemas */
export const withSchemas = (adapter: string, operations: readonly AnyOperation[]): readonly RegisteredOperation[] =>
  operations.map((operation) => ({ operation, schema: loadOperationSchema(operation.name, adapter) }));

/** Operations that only our own code calls: what it may say, the compiler checks. */
export const withoutSchemas = (operations: readonly AnyOperation[]): readonly RegisteredOperation[] =>
  operations.map((operation) => ({
    operation,
    schema: { title: operation.name, description: "", input: { type: "object" }, output: { type: "object" } },
  }));

/** The same by dispatch name. */
export const byDispatchName = (
  adapter: string,
  registered: readonly RegisteredOperation[],
): ReadonlyMap<string, RegisteredOperation> =>
  new Map(registered.map((one) => [`${adapter}:${one.operation.name}`, one]));

/** What the world may know of an operation. */
export function describe(adapter: string, { operation, schema }: RegisteredOperation): OperationMetadata {
  return {
    name: `${adapter}:${operation.name}`,
    toolName: `${adapter}_${operation.name.replaceAll("-", "_")}`,
    title: schema.title,
    description: schema.description,
    ability: operation.ability,
    changes: operation.changes,
    annotations: operation.annotations,
    input: schema.input,
    output: schema.output,
    hidden: operation.hidden ?? [],
    ...(operation.hiddenOutput === undefined ? {} : { hiddenOutput: operation.hiddenOutput }),
    ...(operation.render === undefined ? {} : { render: operation.render.bind(operation) }),
  };
}
