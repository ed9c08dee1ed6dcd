// Published face of the ACP surface: the client side of the Agent Client Protocol, served from a file adapter.

export { AcpClientFs } from "./client-fs.js";
export type { AcpAdapter } from "./files/files.js";
export type {
  AcpCaller,
  AcpLimits,
  AcpMount,
  AcpOptions,
  AcpTerminals,
  Elicit,
  ElicitAnswer,
  ElicitRequest,
  ProtocolChoice,
  ProtocolVersion,
} from "./options.js";
export type { AcpConnection, Configure, NewSession } from "./protocol/connection.js";
export type { AcpCapabilities } from "./protocol/negotiate.js";
export type { SessionDirectories } from "./protocol/sessions.js";
export type {
  ApprovalAnswer,
  ApprovalRequest,
  Approve,
  ChangeRequest,
  CommandRequest,
  WriteRequest,
} from "./review/approval.js";
export type { AcpAuditRecord } from "./review/audit.js";
export type { Modified } from "./review/modified.js";
