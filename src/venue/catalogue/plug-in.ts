import { parseUcans } from "../../core/call/ucans.js";
import type {
  Adapter,
  Annotations,
  InvokeContext,
  JsonObject,
  OperationMetadata,
  SurfaceContext,
} from "../../core/ports/adapter.js";
import { type AdapterHosting, hostAdapter } from "./hosted-adapter.js";

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

/** What is assumed of an operation that says nothing of itself. */
const CAUTIOUS: Annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** Makes a plug-in an adapter like our own, except that it is not shown what only surfaces and the venue need. */
export function plugIn(plug: PlugIn, hosting: AdapterHosting): Adapter {
  return hostAdapter(
    {
      name: plug.name,
      description: plug.description,
      operations: plug.operations.map(complete),
      isOurs: false,
      run: async (operation, input, { context, signal }) => plug.invoke(operation, input, shownOf(context, signal)),
      close: async () => plug.close?.(),
    },
    hosting,
  );
}

/** What an adapter that is not ours sees of a call: one list that narrows it, wherever that came from. */
function shownOf(context: SurfaceContext, signal: AbortSignal | undefined): InvokeContext {
  const { callerDID, authentication, resolveAsset } = context;
  const caps = context.caps ?? context.callCaps;
  return {
    ...(callerDID === undefined ? {} : { callerDID }),
    ...(authentication === undefined ? {} : { authentication }),
    ...(caps === undefined ? {} : { caps }),
    ucans: parseUcans(context.ucans ?? []),
    ...(signal === undefined ? {} : { signal }),
    ...(resolveAsset === undefined ? {} : { resolveAsset }),
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
