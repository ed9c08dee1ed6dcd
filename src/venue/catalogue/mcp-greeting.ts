// Server information and instructions of the MCP handshake, available before any root is open.

import type { McpConfig, VenueConfig } from "../../config/types.js";
import type { McpHost } from "../../surfaces/mcp/host.js";
import { packageVersion } from "../../version.js";

const ROOTS =
  "Files in named roots. Start with file_roots, then file_tree. root is a name from there, path relative to it; none is the root itself.";
const ONE_ROOT =
  "Files in one root, which needs no naming (file_roots tells of it). Start with file_tree. path is relative to the root; none is the root itself.";
const RULES =
  'parents: true makes missing directories. ifMatch: the etag or hash you saw, ifNoneMatch: "*" for a new file; …To: the same of the target; else CONFLICT. ' +
  "Errors carry a code; a denial is final.";

type Named = Pick<VenueConfig, "name"> & { readonly mcp: McpConfig };
type Rooted = Named & Pick<VenueConfig, "file">;

/** Name and version of the server. */
export const serverInfo = ({ name, mcp }: Named): McpHost["serverInfo"] => ({
  ...{ name, version: packageVersion() },
  ...mcp.serverInfo,
});

/** Instructions to a model on the file tools. @param hasOneRoot whether there is one root, which needs no naming */
export const instructions = (hasOneRoot: boolean): string => `${hasOneRoot ? ONE_ROOT : ROOTS} ${RULES}`;

/** The handshake of a server whose roots are not known yet. */
export const greeting = (config: Rooted): Pick<McpHost, "serverInfo" | "instructions" | "asksUsers"> => ({
  asksUsers: Object.values(config.file.roots).some(({ approve }) => approve !== undefined && approve.elicit !== false),
  serverInfo: serverInfo(config),
  instructions: instructions(false),
});
