// The operations that the venue offers. The page shows nothing that needs others.

import { computed, signal } from "@preact/signals";
import { request } from "./http.js";
import type { WhoAmI } from "./operations.js";

/** Names of operations, `file:read`. */
export const operations = signal<ReadonlySet<string>>(new Set());
/** Name of the venue. */
export const venueName = signal("");
/** Limits that input schemas tell: whether an operation takes a field. */
const fields = new Map<string, ReadonlySet<string>>();

export const offers = (name: string): boolean => operations.value.has(name);
/** Whether the input of an operation has a field, such as `version` of `file:read`. */
export const takes = (operation: string, field: string): boolean => fields.get(operation)?.has(field) === true;

interface Listing {
  readonly name: string;
  readonly input?: { readonly properties?: Readonly<Record<string, unknown>> };
}

/** Loads the operations on offer. @throws ApiError */
export async function loadCatalogue(): Promise<void> {
  const [status, listings] = await Promise.all([
    request("/api/v1/status").then((response) => response.json() as Promise<{ readonly name: string }>),
    request("/api/v1/operations").then((response) => response.json() as Promise<readonly Listing[]>),
  ]);
  venueName.value = status.name;
  document.title = status.name;
  const named = listings.map(({ name, input }) => [name.replace(/^v\/ops\//, "").replace("/", ":"), input] as const);
  for (const [name, input] of named) fields.set(name, new Set(Object.keys(input?.properties ?? {})));
  operations.value = new Set(named.map(([name]) => name));
}

/** The signed-in caller. `undefined`: none yet. */
export const who = signal<WhoAmI | undefined>(undefined);
export const isAnonymous = computed(() => who.value?.authentication === "public");

/** Whether the caller holds an ability on a path, as far as `auth:whoami` tells. */
export function holds(ability: string, root: string, path = ""): boolean {
  const me = who.value;
  if (me === undefined) return false;
  if (me.operator || me.grantsTruncated) return true;
  return me.grants.some((grant) => coversAbility(grant.can, ability) && coversPath(grant.with, root, path));
}

const coversAbility = (held: string, needed: string): boolean =>
  held === "*" || held === needed || needed.startsWith(`${held}/`);

function coversPath(resource: string, root: string, path: string): boolean {
  const place = /^(?:file|dlfs):\/\/(.*)$/.exec(resource)?.[1]?.replace(/\/$/, "");
  if (place === undefined) return resource === "*";
  if (place === "") return true;
  const whole = path === "" ? root : `${root}/${path}`;
  return whole === place || whole.startsWith(`${place}/`);
}
