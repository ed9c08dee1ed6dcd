export type { ApprovalAnswer, ApprovalRequest, Approve, CommandRequest, WriteRequest } from "./approval.js";
export type { AcpAuditRecord } from "./audit.js";
export type { Modified } from "./changes.js";
export { type AcpCapabilities, AcpClientFs } from "./client-fs.js";
export type { AcpConnection, NewSession } from "./connection.js";
export type { AcpAdapter, AcpCaller, AcpLimits, AcpMount, AcpOptions, AcpTerminals } from "./options.js";
export type { SessionDirectories } from "./sessions.js";
