// The error of a command for which there is no sandbox, with what callers may know of the reason.

import { adapterError, type FileAdapterError } from "./errors.js";

/** Why the host's own programs cannot work in a drive. */
export const DRIVE_NEEDS_THREADS = 'a drive is no directory of this machine: set shell.driver to "just-bash"';
/** Begins every such text. */
const NO_SANDBOX = "no sandbox available";
/** The reason itself is for the operator: it may hold paths of the host. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/"just-bash"/, DRIVE_NEEDS_THREADS],
  [/never run as root/, "commands never run as root (set shell.uid and shell.gid)"],
  [/\/dev\/net\/tun|\btun socket\b/, "its network needs /dev/net/tun (or set shell.network to false)"],
];

/** Why no command is run where this process is root and would have to run it as root. */
export const AS_ROOT = "commands never run as root: set shell.uid and shell.gid";

const hintOf = (reason: string): string | undefined => HINTS.find(([pattern]) => pattern.test(reason))?.[1];

/** @param reason for the operator */
export function noSandboxText(reason = ""): string {
  const hint = hintOf(reason);
  return hint === undefined ? NO_SANDBOX : `${NO_SANDBOX}: ${hint}`;
}

/** @param reason for the operator */
export const noSandbox = (reason?: string): FileAdapterError => {
  const text = noSandboxText(reason);
  return adapterError("NOT_SUPPORTED", `Not supported by this venue: ${text}`, { sandbox: text });
};

/** Text of a {@link noSandbox} error, without the words that a venue puts before it. */
export const sandboxText = ({ data }: FileAdapterError): string =>
  typeof data["sandbox"] === "string" ? data["sandbox"] : NO_SANDBOX;
