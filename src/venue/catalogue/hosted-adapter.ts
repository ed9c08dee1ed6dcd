// Wraps operations into an adapter: input validation, cancellation, one audit record per call.

import { type AuditRecord, type AuditSink, deniedBy } from "../../audit/record.js";
import type { Clock } from "../../core/clock.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { aborted, invalidInput } from "../../core/errors/texts.js";
import type { Adapter, JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { viaOf } from "../../dispatch/call/state.js";
import { InputValidator, withoutNulls } from "../../schema/validate.js";

/** Services of the venue for hosted adapters. */
export interface AdapterHosting {
  readonly clock: Clock;
  readonly audit?: AuditSink | undefined;
  /** Logs an audit record that could not be written. */
  readonly logInternal: (error: unknown, id: string) => void;
}

/** Audit details of a call, filled in by the operation as soon as they are known. Ids and DIDs only. */
export interface CallTrail {
  resource: string;
  chain?: NonNullable<AuditRecord["proofs"]>;
}

/** One call of a hosted operation. */
export interface HostedCall {
  readonly context: SurfaceContext;
  readonly signal: AbortSignal | undefined;
  readonly trail: CallTrail;
}

/** The operations of an adapter, before {@link hostAdapter} adds validation, cancellation and audit. */
export interface HostedOperations extends Pick<Adapter, "name" | "description" | "operations"> {
  /** Whether the schemas are this package's own, so that an unknown keyword is a mistake. */
  readonly isOurs: boolean;
  /** @param input valid against the operation's schema */
  run(operation: string, input: JsonObject, call: HostedCall): Promise<unknown>;
  close?(): Promise<void>;
}

/** Creates an adapter that validates input, answers cancelled calls at once, and writes one audit record per call. */
export function hostAdapter(hosted: HostedOperations, hosting: AdapterHosting): Adapter {
  const { name, description, operations } = hosted;
  const known = new Map(operations.map((operation) => [operation.name, operation]));
  const validator = new InputValidator({ strict: hosted.isOurs });
  return {
    name,
    description,
    operations,
    async invoke(operation, input, context = {}) {
      const { clock } = hosting;
      const startedMs = clock.monotonicMs();
      const trail: CallTrail = { resource: "" };
      let outcome = "OK";
      let failure: FileAdapterError | undefined;
      try {
        const schema = known.get(operation)?.input ?? {};
        const given = hosted.isOurs ? withoutNulls(input, schema) : input;
        await validator.check(operation, schema, given);
        const signal = context.cancellation?.signal ?? context.signal;
        if (signal?.aborted === true) throw aborted();
        return await untilAborted(hosted.run(operation, parseInput(given), { context, signal, trail }), signal);
      } catch (error) {
        failure = error instanceof FileAdapterError ? error : undefined;
        outcome = failure?.code ?? "INTERNAL";
        throw error;
      } finally {
        tell(hosting, {
          time: clock.nowMs(),
          caller: context.callerDID ?? "operator",
          operation,
          resource: trail.resource,
          outcome,
          bytes: 0,
          ms: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1000,
          job: context.jobId,
          via: viaOf(context),
          denied: deniedBy(failure),
          proofs: trail.chain,
        });
      }
    },
    close: async () => hosted.close?.(),
  };
}

function tell({ audit, logInternal }: AdapterHosting, record: AuditRecord): void {
  try {
    audit?.write(record);
  } catch (error) {
    // The call has taken effect already: a sink that throws must not turn its result into a failure.
    logInternal(error, record.job ?? record.operation);
  }
}

function parseInput(input: unknown): JsonObject {
  if (isObject(input)) return input;
  throw invalidInput("'input' must be a JSON object", "", "object");
}

/** Rejects when the signal aborts, since the operation may ignore the signal. */
function untilAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(aborted());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
