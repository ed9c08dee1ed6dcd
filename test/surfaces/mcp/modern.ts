import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";

const REVISION = "2026-07-28";
export const MODERN_META = {
  [PROTOCOL_VERSION_META_KEY]: REVISION,
  [CLIENT_INFO_META_KEY]: { name: "test", version: "1" },
  [CLIENT_CAPABILITIES_META_KEY]: {},
};
/** A call of a tool over HTTP as clients of revision 2026-07-28 send it. @param more in its `_meta` */
export function modernCall(
  { id = 1, name, args }: { id?: number; name: string; args: object },
  more: object = {},
): { headers: Record<string, string>; message: object } {
  const headers = {
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...{ "mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": name },
  };
  const params = { name, arguments: args, _meta: { ...MODERN_META, ...more } };
  return { headers, message: { jsonrpc: "2.0", id, method: "tools/call", params } };
}
