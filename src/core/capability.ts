/** A capability as written in configs, caps lists and answers: a resource and what may be done with it. */
export interface Capability {
  /** `file://<root>/<path>`; covers everything below. `file://` is every root. */
  readonly with: string;
  /** `crud/read`, `crud/write`, `crud/delete`, `crud` or `*`. */
  readonly can: string;
}

export type Ability = "crud/read" | "crud/write" | "crud/delete";
