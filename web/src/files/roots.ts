// The roots that the venue offers.

import { signal } from "@preact/signals";
import { read } from "../api/call.js";
import { holds } from "../api/catalogue.js";
import type { Outputs } from "../api/operations.js";
import { isInArchive } from "./kinds.js";

export type Root = Outputs["file:roots"]["roots"][number];

export const roots = signal<readonly Root[] | undefined>(undefined);
export const rootsError = signal<unknown>(undefined);

export async function loadRoots(): Promise<void> {
  try {
    roots.value = (await read("file:roots", {})).roots;
    rootsError.value = undefined;
  } catch (error) {
    rootsError.value = error;
  }
}

/** Whether it is known which roots take changes, so that nothing is offered for a moment that is not held. */
export const areRootsKnown = (): boolean => roots.value !== undefined || rootsError.value !== undefined;

export const rootNamed = (name: string): Root | undefined => roots.value?.find((root) => root.name === name);

/** Whether a change is offered: the root takes changes and the caller holds the ability. */
export const mayChange = (root: string, path: string, ability: "crud/write" | "crud/delete"): boolean =>
  rootNamed(root)?.readOnly !== true && !isInArchive(path) && holds(ability, root, path);
