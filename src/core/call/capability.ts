/** A capability as written in configs, caps lists and answers: a resource and an ability on it. */
export interface Capability {
  /** `file://<root>/<path>`, covers everything below; `file://` covers every root. */
  readonly with: string;
  /** `crud/read`, `crud/write`, `crud/delete`, `crud`, `exec/run` or `*`. */
  readonly can: string;
}

/** `exec/run`: commands on a whole root, hence everything in it. No other ability implies it. */
export type Ability = "crud/read" | "crud/write" | "crud/delete" | "exec/run" | typeof APPROVE;

/** To decide what other callers wait for. Only a grant that names it covers it: `*` does not. */
export const APPROVE = "approve";
