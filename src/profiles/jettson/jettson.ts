import type { Profile } from "../profile.js";
import { fileTools } from "./files.js";
import { textOf } from "./texts.js";

const REJECTED = "Jettson Files rejected the operation: ";

/** Jettson Files: four tools on a workspace. */
export const jettson: Profile = {
  name: "jettson",
  description: "Jettson Files: read, write, list and delete files in /workspace.",
  instructions: "Files of the workspace; paths are relative to /workspace. A failure is { error }.",
  links: "follow",
  open: () => ({
    tools: fileTools(),
    errorText: textOf,
    errorValue: (text) => ({ error: `${REJECTED}${text}` }),
  }),
};
