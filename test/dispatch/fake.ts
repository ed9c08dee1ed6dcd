import type { AuditRecord } from "../../src/audit/record.js";
import { DEFAULT_LIMITS, type Limits } from "../../src/core/call/limits.js";
import { type Clock, systemClock } from "../../src/core/clock.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { ApprovalRules } from "../../src/core/ports/approval.js";
import type { Backend } from "../../src/core/ports/backend.js";
import type { Journal } from "../../src/core/ports/changes/journal.js";
import type { Root } from "../../src/core/ports/operation.js";
import { Dispatcher } from "../../src/dispatch/dispatch.js";
import type { Repeats } from "../../src/dispatch/repeated-calls.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadOperationSchema } from "../../src/schema/load.js";
import { InputValidator } from "../../src/schema/validate.js";
import { authorityOf } from "../authz/fixture.js";
import { createMemoryBackend } from "../backend/memory/memory.js";

export interface Dispatch {
  readonly dispatcher: Dispatcher;
  readonly audit: AuditRecord[];
  readonly internal: { error: unknown; requestId: string }[];
  call(name: string, input?: object, context?: SurfaceContext): Promise<unknown>;
}

export interface DispatchParts {
  /** What the root `r` does in place of a memory backend. */
  readonly backend?: Partial<Backend>;
  readonly journal?: Journal | undefined;
  readonly approve?: ApprovalRules;
  readonly limits?: Partial<Limits>;
  readonly clock?: Clock;
  readonly repeats?: (clock: Clock) => Repeats;
  readonly onRecord?: (record: AuditRecord) => void;
}

/** A dispatcher over one root `r` in memory, some of whose methods may be replaced. */
export function dispatchOn(parts: DispatchParts = {}): Dispatch {
  const clock = parts.clock ?? systemClock;
  const audit: AuditRecord[] = [];
  const internal: Dispatch["internal"] = [];
  const memory = createMemoryBackend({ rootName: "r", clock });
  const backend = new Proxy(memory, {
    get(target, key) {
      const replaced: unknown = Reflect.get(parts.backend ?? {}, key);
      const method: unknown = replaced ?? Reflect.get(target, key);
      return typeof method === "function" ? method.bind(replaced === undefined ? target : parts.backend) : method;
    },
  });
  const { journal, approve } = parts;
  const root: Root = {
    ...{ name: "r", kind: "memory", readOnly: false, backend },
    ...(approve === undefined ? {} : { approve }),
    ...(journal === undefined ? {} : { journal: { mode: journal.mode, open: () => journal } }),
  };
  const dispatcher = new Dispatcher({
    adapterName: "file",
    operations: new Map(
      OPERATIONS.map((operation) => [
        `file:${operation.name}`,
        { operation, schema: loadOperationSchema(operation.name) },
      ]),
    ),
    roots: [root],
    validator: new InputValidator(),
    limits: { ...DEFAULT_LIMITS, ...parts.limits },
    clock,
    ...(parts.repeats === undefined ? {} : { repeats: parts.repeats(clock) }),
    discloseHostPaths: false,
    authorityOf: () => authorityOf(),
    audit: {
      write: (record) => {
        audit.push(record);
        parts.onRecord?.(record);
      },
      close: async () => {},
    },
    onInternalError: (error, requestId) => void internal.push({ error, requestId }),
  });
  const call = (name: string, input: object = {}, context: SurfaceContext = {}) =>
    dispatcher.invoke(`file:${name}`, name === "roots" ? input : { root: "r", path: "file", ...input }, context);
  return { dispatcher, audit, internal, call };
}

/** A promise with the means to settle it. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

/** Lets everything run that is ready to. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
