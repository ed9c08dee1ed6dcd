import type { AuditSink } from "../audit/record.js";
import type {
  Adapter,
  Annotations,
  InvokeContext,
  JsonObject,
  OperationMetadata,
  SurfaceContext,
} from "../core/adapter.js";
import type { Clock } from "../core/clock.js";
import { FileAdapterError } from "../core/errors.js";
import { aborted, invalidInput } from "../core/texts.js";
import { parseUcans } from "../core/ucans.js";
import { InputValidator } from "../schema/validate.js";

/** An operation as the author of an adapter describes it. */
export interface PlugInOperation {
  /** Dispatch name, `<adapter>:<operation>`. */
  readonly name: string;
  /** Written for an agent. */
  readonly description: string;
  /** JSON Schema of the input; checked before the adapter is called. Absent: any object. */
  readonly input?: JsonObject;
  /** JSON Schema of the output, an object; for clients to read. Absent: any object. */
  readonly output?: JsonObject;
  readonly title?: string;
  /** Default: the name with `_` for `:`. */
  readonly toolName?: string;
  /** Default: the cautious ones, of an operation that may change anything anywhere. */
  readonly annotations?: Partial<Annotations>;
  /** Input fields that records of a call hide. */
  readonly hidden?: readonly string[];
}

/** An adapter as somebody else writes it. */
export interface PlugIn {
  /** Lower-case letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PlugInOperation[];
  /**
   * Runs one operation. The adapter decides by `context.callerDID` and `context.authentication` what the caller may do.
   * @throws FileAdapterError for a failure its caller should read; anything else reaches the caller as INTERNAL
   */
  invoke(operation: string, input: JsonObject, context: InvokeContext): Promise<unknown>;
  close?(): Promise<void>;
}

export interface PlugInHost {
  readonly clock: Clock;
  readonly audit?: AuditSink | undefined;
  /** Told of a record that could not be written. */
  readonly logInternal: (error: unknown, id: string) => void;
}

/** What is assumed of an operation that says nothing of itself. */
const CAUTIOUS: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/**
 * Makes a plug-in an adapter like our own: its input is checked, a cancelled call is answered at once, and every call
 * leaves one audit record.
 */
export function plugIn(plug: PlugIn, host: PlugInHost): Adapter {
  const operations = plug.operations.map(complete);
  const known = new Map(operations.map((operation) => [operation.name, operation]));
  const validator = new InputValidator({ strict: false });
  return {
    name: plug.name,
    description: plug.description,
    operations,
    async invoke(operation, input, context = {}) {
      const startedMs = host.clock.monotonicMs();
      let outcome = "OK";
      try {
        const schema = known.get(operation)?.input ?? {};
        await validator.check(operation, schema, input);
        const signal = context.cancellation?.signal ?? context.signal;
        return await untilAborted(plug.invoke(operation, parseInput(input), shownOf(context, signal)), signal);
      } catch (error) {
        outcome = error instanceof FileAdapterError ? error.code : "INTERNAL";
        throw error;
      } finally {
        record(host, { operation, context, outcome, startedMs });
      }
    },
    close: async () => plug.close?.(),
  };
}

function record(
  { clock, audit, logInternal }: PlugInHost,
  call: { operation: string; context: SurfaceContext; outcome: string; startedMs: number },
): void {
  const { operation, context, outcome, startedMs } = call;
  try {
    audit?.write({
      time: clock.nowMs(),
      caller: context.callerDID ?? "operator",
      operation,
      resource: "",
      outcome,
      bytes: 0,
      ms: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1000,
      ...(context.jobId === undefined ? {} : { job: context.jobId }),
    });
  } catch (error) {
    // What the call did is done: a sink that breaks its promise must not turn the answer into a failure.
    logInternal(error, context.jobId ?? operation);
  }
}

function parseInput(input: unknown): JsonObject {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input as JsonObject;
  throw invalidInput("'input' must be a JSON object", "", "object");
}

/** What an adapter that is not ours sees of a call: one list that narrows it, wherever that came from. */
function shownOf(context: SurfaceContext, signal: AbortSignal | undefined): InvokeContext {
  const {
    callCaps,
    tokenCaps: _,
    budget: _budget,
    jobId: _jobId,
    cancellation: _cancellation,
    ucans,
    ...shown
  } = context;
  return {
    ...(callCaps === undefined ? {} : { caps: callCaps }),
    ...shown,
    ucans: parseUcans(ucans ?? []),
    ...(signal === undefined ? {} : { signal }),
  };
}

function complete(operation: PlugInOperation): OperationMetadata {
  const { name, description, input, output, title, toolName, annotations, hidden } = operation;
  return {
    name,
    toolName: toolName ?? name.replace(":", "_"),
    title: title ?? name,
    description,
    ability: "crud/write",
    changes: annotations?.readOnlyHint !== true,
    annotations: { ...CAUTIOUS, ...annotations },
    input: input ?? { type: "object" },
    output: output ?? { type: "object" },
    hidden: hidden ?? [],
  };
}

/** Whoever wrote the adapter may not look at the signal; its caller is answered all the same. */
function untilAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(aborted());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
