import type { AuditRecord, AuditSink } from "../../audit/record.js";
import type { Clock } from "../../core/clock.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { aborted, invalidInput } from "../../core/errors/texts.js";
import type { Adapter, JsonObject, OperationMetadata, SurfaceContext } from "../../core/ports/adapter.js";
import { InputValidator } from "../../schema/validate.js";

/** What a venue lends to the adapters it hosts. */
export interface AdapterHosting {
  readonly clock: Clock;
  readonly audit?: AuditSink | undefined;
  /** Told of a record that could not be written. */
  readonly logInternal: (error: unknown, id: string) => void;
}

/** What a call did, for its audit record; an operation fills it in as soon as it knows. Ids and DIDs only. */
export interface CallTrail {
  resource: string;
  chain?: NonNullable<AuditRecord["chain"]>;
}

/** One call of a hosted operation. */
export interface HostedCall {
  readonly context: SurfaceContext;
  readonly signal: AbortSignal | undefined;
  readonly trail: CallTrail;
}

/** Operations without what all of them need around them. */
export interface HostedOperations {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly OperationMetadata[];
  /** Whether its schemas are our own, so that a keyword that means nothing is a mistake. */
  readonly isOurs: boolean;
  /** @param input what fits the schema of the operation */
  run(operation: string, input: JsonObject, call: HostedCall): Promise<unknown>;
  close?(): Promise<void>;
}

/** Makes an adapter whose input is checked, whose cancelled calls are answered at once, and whose every call leaves one audit record. */
export function hostAdapter(hosted: HostedOperations, hosting: AdapterHosting): Adapter {
  const { name, description, operations } = hosted;
  const known = new Map(operations.map((operation) => [operation.name, operation]));
  const validator = new InputValidator({ strict: hosted.isOurs });
  return {
    name,
    description,
    operations,
    async invoke(operation, input, context = {}) {
      const startedMs = hosting.clock.monotonicMs();
      const trail: CallTrail = { resource: "" };
      let outcome = "OK";
      try {
        const schema = known.get(operation)?.input ?? {};
        await validator.check(operation, schema, input);
        const signal = context.cancellation?.signal ?? context.signal;
        if (signal?.aborted === true) throw aborted();
        return await untilAborted(hosted.run(operation, parseInput(input), { context, signal, trail }), signal);
      } catch (error) {
        outcome = error instanceof FileAdapterError ? error.code : "INTERNAL";
        throw error;
      } finally {
        record(hosting, { operation, context, outcome, startedMs, trail });
      }
    },
    close: async () => hosted.close?.(),
  };
}

interface EndedCall {
  readonly operation: string;
  readonly context: SurfaceContext;
  readonly outcome: string;
  readonly startedMs: number;
  readonly trail: CallTrail;
}

function record({ clock, audit, logInternal }: AdapterHosting, call: EndedCall): void {
  const { operation, context, outcome, startedMs, trail } = call;
  try {
    audit?.write({
      time: clock.nowMs(),
      caller: context.callerDID ?? "operator",
      operation,
      resource: trail.resource,
      outcome,
      bytes: 0,
      ms: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1000,
      ...(context.jobId === undefined ? {} : { job: context.jobId }),
      ...(trail.chain === undefined ? {} : { chain: trail.chain }),
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

/** Whoever wrote the operation may not look at the signal; its caller is answered all the same. */
function untilAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(aborted());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
