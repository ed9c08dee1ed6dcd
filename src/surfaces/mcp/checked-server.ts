import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type StandardSchemaV1,
  specTypeSchemas,
} from "@modelcontextprotocol/server";

/** Requests whose malformed parameters the SDK would answer as an internal error. */
const SCHEMAS = new Map<string, StandardSchemaV1>([
  ["initialize", specTypeSchemas.InitializeRequest],
  ["tools/list", specTypeSchemas.ListToolsRequest],
]);

/** A server of the SDK that answers malformed parameters with -32602, naming the first that is wrong. */
export class CheckedServer extends Server {
  protected override _wrapHandler(
    ...[method, handler]: Parameters<Server["_wrapHandler"]>
  ): ReturnType<Server["_wrapHandler"]> {
    const handle = super._wrapHandler(method, handler);
    const schema = SCHEMAS.get(method)?.["~standard"];
    if (schema === undefined) return handle;
    return async (request, context) => {
      const { issues } = await schema.validate(request);
      if (issues === undefined) return handle(request, context);
      const [first] = issues;
      const at = (first?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid ${method} request: ${at}: ${first?.message}`);
    };
  }
}
