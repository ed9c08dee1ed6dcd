// The Jettson profile: file tools and a shell on one workspace.

import type { Profile } from "../profile.js";
import { fileTools } from "./files.js";
import { SHELL_TOOL, shellTool } from "./shell.js";
import { textOf } from "./texts.js";

const FILES_REJECTED = "Jettson Files rejected the operation: ";
const SHELL_REJECTED = "Jettson Shell rejected the command: ";

/** Jettson Files and Jettson Shell: file tools and a shell on one workspace. */
export const jettson: Profile = {
  name: "jettson",
  description: "Jettson Files and Shell: read, write, list and delete files in /workspace, run commands there.",
  instructions: "Files of the workspace; paths are relative to /workspace. A failure is { error }.",
  links: "follow",
  open: (_binding, { shell }) => ({
    tools: [...fileTools(), ...(shell === undefined ? [] : [shellTool(shell)])],
    errorText: textOf,
    errorValue: (text, tool) => ({ error: `${tool === SHELL_TOOL ? SHELL_REJECTED : FILES_REJECTED}${text}` }),
  }),
};
