import type { Operation } from "../core/operation.js";
import { LOOKS } from "../core/operation.js";
import type { RootsInput, RootsOutput } from "../schema/types.js";

/** The roots the caller may use. */
export const roots: Operation<RootsInput, RootsOutput> = {
  name: "roots",
  on: "roots",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  run: (_input, { visible, discloseHostPaths }) => ({
    roots: visible.map((root) => ({
      name: root.name,
      path: discloseHostPaths && root.hostPath !== undefined ? root.hostPath : `file://${root.name}/`,
      kind: root.kind === "memory" ? "temp" : root.kind,
      readOnly: root.readOnly,
      ...(root.description === undefined ? {} : { description: root.description }),
    })),
  }),
};
