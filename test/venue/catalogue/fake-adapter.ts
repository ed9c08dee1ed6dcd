import type { Adapter, OperationMetadata, SurfaceContext } from "../../../src/core/ports/adapter.js";

/** What the fake does for one operation. */
export type FakeOperation = (input: unknown, context: SurfaceContext) => unknown;

export interface FakeCall {
  readonly operation: string;
  readonly input: unknown;
  readonly context: SurfaceContext | undefined;
}

export interface FakeAdapter extends Adapter {
  readonly calls: FakeCall[];
}

/** An adapter whose operations are the given functions; `write` hides what the file operation hides. */
export function fakeAdapter(operations: Readonly<Record<string, FakeOperation>>, name = "file"): FakeAdapter {
  const calls: FakeCall[] = [];
  return {
    name,
    description: "A fake",
    operations: Object.keys(operations).map((op) => metadataOf(name, op)),
    calls,
    invoke: async (operation, input, given = {}) => {
      const signal = given.cancellation?.signal ?? given.signal;
      const context = { ...given, ...(signal === undefined ? {} : { signal }) };
      calls.push({ operation, input, context });
      return operations[operation.slice(name.length + 1)]?.(input, context);
    },
    close: async () => {},
  };
}

function metadataOf(adapter: string, op: string): OperationMetadata {
  return {
    name: `${adapter}:${op}`,
    toolName: `${adapter}_${op}`,
    title: `Fake ${op}`,
    description: `Does ${op}`,
    ability: "crud/read",
    changes: false,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: { type: "object", title: op },
    output: { type: "object" },
    hidden: op === "write" ? ["content", "value", "bytes"] : [],
  };
}

/** A promise that the test settles. */
export function gate<T = unknown>(): { promise: Promise<T>; open: (value: T) => void; fail: (error: unknown) => void } {
  let open: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}
