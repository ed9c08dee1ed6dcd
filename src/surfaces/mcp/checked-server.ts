// The SDK's MCP server with exact errors for malformed parameters.

import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type StandardSchemaV1,
  specTypeSchemas,
} from "@modelcontextprotocol/server";

/** Requests for which the SDK answers malformed parameters with an internal error. */
const SCHEMAS = new Map<string, StandardSchemaV1>([
  ["initialize", specTypeSchemas.InitializeRequest],
  ["tools/list", specTypeSchemas.ListToolsRequest],
]);

/** The SDK's server, except that malformed parameters are answered with -32602, naming the first invalid one. */
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
