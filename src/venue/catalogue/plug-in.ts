// The interface for third-party adapters.

import { types } from "node:util";
import { parseUcans } from "../../core/call/ucans.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import type {
  Adapter,
  Annotations,
  InvokeContext,
  JsonObject,
  OperationMetadata,
  SurfaceContext,
} from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { parseExact, RefusedJson, stringifyExact } from "../../schema/exact-json.js";
import { type AdapterHosting, hostAdapter } from "./hosted-adapter.js";

/** An operation as declared by the author of an adapter. */
export interface PlugInOperation {
  /** Dispatch name, `<adapter>:<operation>`. */
  readonly name: string;
  /** Description for agents. */
  readonly description: string;
  /** JSON Schema of the input; validated before `invoke` is called. Absent: any object. */
  readonly input?: JsonObject;
  /** JSON Schema of the output; informs clients only. Absent: any. */
  readonly output?: JsonObject;
  readonly title?: string;
  /** Default: the name with `:` replaced by `_`. */
  readonly toolName?: string;
  /** Default: the most cautious hints, as for an operation that may change anything. */
  readonly annotations?: Partial<Annotations>;
  /** Input fields left out of job records. */
  readonly hidden?: readonly string[];
}

/** A third-party adapter. */
export interface PlugIn {
  /** Lower-case letters, digits, `_` and `-`. */
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PlugInOperation[];
  /**
   * Runs one operation. The adapter authorizes the caller itself, by `context.callerDID` and `context.authentication`.
   * @returns what JSON can hold; over MCP anything but an object is sent as `{ result }`
   * @throws FileAdapterError for a failure the caller should see; anything else is reported as INTERNAL
   */
  invoke(operation: string, input: JsonObject, context: InvokeContext): Promise<unknown>;
  close?(): Promise<void>;
}

/** Annotations assumed for an operation that declares none. */
const CAUTIOUS: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** Turns a plug-in into an adapter, without the parts of the context that only surfaces and the venue use. */
export function plugIn(plug: PlugIn, hosting: AdapterHosting): Adapter {
  return hostAdapter(
    {
      name: plug.name,
      description: plug.description,
      operations: plug.operations.map(complete),
      isOurs: false,
      run: async (operation, input, { context, signal }) => {
        let output: unknown;
        try {
          output = await plug.invoke(operation, input, shownOf(context, signal));
        } catch (error) {
          throw plainFault(error);
        }
        return plainJson(output);
      },
      close: async () => plug.close?.(),
    },
    hosting,
  );
}

/** A copy that is nothing but JSON, so that records, lists and surfaces can rely on it. @throws if it cannot be written */
function plainJson(value: unknown): unknown {
  const text: string | undefined = stringifyExact(value);
  if (text === undefined) return null;
  try {
    return parseExact(text);
  } catch (error) {
    // The value can be written as JSON, but holds integers that are too long to be read.
    if (error instanceof RefusedJson) return value;
    throw error;
  }
}

/** Turns a value that a plug-in threw into a safe error: the value may be a proxy, or its data cyclic. */
function plainFault(thrown: unknown): Error {
  try {
    const isWhole = thrown instanceof FileAdapterError && !types.isProxy(thrown) && thrown.message !== "";
    if (isWhole && typeof thrown.code === "string") {
      return new FileAdapterError(thrown.code, thrown.message, plainData(thrown.data));
    }
  } catch {}
  const isOther = types.isNativeError(thrown) && !(thrown instanceof FileAdapterError);
  return isOther ? thrown : new Error("An adapter threw what is no error", { cause: thrown });
}

/** Integers as doubles: writers of errors take no others. */
function plainData(data: unknown): JsonObject {
  try {
    const plain: unknown = JSON.parse(stringifyExact(data));
    return isObject(plain) ? plain : {};
  } catch {
    return {};
  }
}

/** The context a plug-in sees: one caps list, wherever it came from. */
function shownOf(context: SurfaceContext, signal: AbortSignal | undefined): InvokeContext {
  const { callerDID, authentication, resolveAsset, report } = context;
  const caps = context.caps ?? context.callCaps;
  return {
    ...(callerDID === undefined ? {} : { callerDID }),
    ...(authentication === undefined ? {} : { authentication }),
    ...(caps === undefined ? {} : { caps }),
    ucans: parseUcans(context.ucans ?? []),
    ...(signal === undefined ? {} : { signal }),
    ...(resolveAsset === undefined ? {} : { resolveAsset }),
    ...(report === undefined ? {} : { report }),
  };
}

/** A tool name that hosts take: OpenAI allows these characters, and 64 of them. */
const hostName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);

function complete(operation: PlugInOperation): OperationMetadata {
  const { name, description, input, output, title, toolName, annotations, hidden } = operation;
  return {
    name,
    toolName: hostName(toolName ?? name),
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
