// Server information and instructions of the MCP handshake, available before any root is open.

import type { McpConfig, VenueConfig } from "../../config/types.js";
import type { Greeting, McpHost } from "../../surfaces/mcp/host.js";
import { instructions } from "../../surfaces/mcp/offer/everyday.js";
import { packageVersion } from "../../version.js";

type Named = Pick<VenueConfig, "name"> & { readonly mcp: McpConfig };
type Rooted = Named & Pick<VenueConfig, "file">;

/** Name and version of the server. */
export const serverInfo = ({ name, mcp }: Named): McpHost["serverInfo"] => ({
  ...{ name, version: packageVersion() },
  ...mcp.serverInfo,
});

/** Operations that resources are made of. Resources exist where all of them may be tools. */
const RESOURCE_PATHS = ["roots", "list", "read"].map((name) => `v/ops/file/${name}`);

export const hasResources = ({ includeAdapters, includePathPrefixes }: McpConfig): boolean =>
  (includeAdapters?.includes("file") ?? true) &&
  RESOURCE_PATHS.every((path) => includePathPrefixes.some((prefix) => path.startsWith(prefix)));

/** The handshake of a server whose roots are not known yet. */
export const greeting = (config: Rooted): Greeting => ({
  hasResources: hasResources(config.mcp),
  asksUsers: Object.values(config.file.roots).some(({ approve }) => approve !== undefined && approve.elicit !== false),
  serverInfo: serverInfo(config),
  instructions: instructions(false),
});
