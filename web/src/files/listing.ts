// The entries of a directory: the first 1,000 stand before the rest arrives; sorted and filtered here.

import { signal } from "@preact/signals";
import { read } from "../api/call.js";
import { isAborted } from "../api/errors.js";
import type { Outputs } from "../api/operations.js";

export type Entry = Outputs["file:list"]["entries"][number];
export type SortKey = "name" | "size" | "modified";

export interface Sorting {
  readonly by: SortKey;
  readonly descending: boolean;
}

export interface Listing {
  readonly root: string;
  readonly path: string;
  readonly entries: readonly Entry[];
  readonly total: number;
  /** Whether all pages are there. */
  readonly isWhole: boolean;
  readonly hidden: Outputs["file:list"]["hidden"];
  readonly error?: unknown;
}

const FIRST_PAGE = 1000;
const LATER_PAGE = 10_000;

export const listing = signal<Listing | undefined>(undefined);
let running: AbortController | undefined;
let firstPage: Promise<unknown> = Promise.resolve();

/** Resolves when the folder on screen has shown its first page, so that less urgent work does not delay it. */
export const whenListed = (): Promise<unknown> => firstPage;

/** Lists a directory. An earlier listing of the same directory is shown until the new first page arrives. */
export async function list(root: string, path: string): Promise<void> {
  running?.abort();
  const own = new AbortController();
  running = own;
  const shown = listing.value;
  if (shown?.root !== root || shown.path !== path || shown.error !== undefined) listing.value = undefined;
  let isListed = (): void => {};
  firstPage = new Promise<void>((resolve) => {
    isListed = resolve;
  });
  try {
    await loadPages({ root, path }, own.signal, isListed);
  } catch (error) {
    if (isAborted(error) || own.signal.aborted) return;
    listing.value = { root, path, entries: [], total: 0, isWhole: true, hidden: undefined, error };
  } finally {
    isListed();
  }
}

async function loadPages(
  { root, path }: Pick<Listing, "root" | "path">,
  signal: AbortSignal,
  onFirst: () => void,
): Promise<void> {
  const entries: Entry[] = [];
  for (;;) {
    const after = entries.at(-1)?.name;
    const [limit, behind] = after === undefined ? [FIRST_PAGE, {}] : [LATER_PAGE, { after }];
    const page = await read("file:list", { root, ...(path === "" ? {} : { path }), ...behind, limit }, { signal });
    for (const entry of page.entries) entries.push(entry);
    const isWhole = !page.truncated || page.entries.length === 0;
    listing.value = {
      root,
      path,
      entries: isWhole ? entries : entries.slice(),
      total: page.total,
      isWhole,
      hidden: page.hidden,
    };
    onFirst();
    if (isWhole) return;
  }
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
/** Beyond this, names are compared by code unit: a collator takes a second for 100,000. */
const MAX_COLLATED = 20_000;

/** Directories first, then by the chosen column. @param filter part of a name, in any case */
export function arrange(entries: readonly Entry[], { by, descending }: Sorting, filter: string): readonly Entry[] {
  const wanted = filter.toLowerCase();
  const chosen = wanted === "" ? entries : entries.filter(({ name }) => name.toLowerCase().includes(wanted));
  const names = chosen.length > MAX_COLLATED ? byCodeUnit : byCollator;
  const compare = by === "name" ? names : (one: Entry, other: Entry) => one[by] - other[by] || names(one, other);
  const sorted = (some: Entry[]) => (descending ? some.sort((one, other) => compare(other, one)) : some.sort(compare));
  const directories = chosen.filter(({ type }) => type === "directory");
  return [...sorted(directories), ...sorted(chosen.filter(({ type }) => type !== "directory"))];
}

const byCollator = (one: Entry, other: Entry): number => collator.compare(one.name, other.name);
const byCodeUnit = (one: Entry, other: Entry): number => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0);
