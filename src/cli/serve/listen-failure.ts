// Explains why a venue cannot listen.

import type { VenueConfig } from "../../config/types.js";

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use. Choose another with --port",
  EACCES: "the port needs more rights. Choose another with --port",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "no such host name",
  EAI_AGAIN: "the host name cannot be looked up",
};

const SOCKET_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: "the socket is in use",
  EACCES: "permission denied",
  ENOENT: "its folder does not exist",
  EINVAL: "the path is too long for a socket",
};

/** Message for the operator: why a venue cannot listen. @param code errno name, such as `EADDRINUSE` */
export function listenFailure({ listen, hostname, port }: VenueConfig, code: string): string {
  if (listen !== undefined) return `Cannot listen on ${listen.socket}: ${SOCKET_FAILURES[code] ?? code}`;
  return `Cannot listen on ${hostname}:${port}: ${LISTEN_FAILURES[code] ?? code}`;
}
