// The chosen rows of the list, and the row with the focus.

import { signal } from "@preact/signals";

export const selected = signal<ReadonlySet<string>>(new Set());
/** Index of the row with the focus, in the order shown. */
export const active = signal(0);
let anchor = 0;

export function clearSelection(): void {
  selected.value = new Set();
  active.value = 0;
  anchor = 0;
}

/** Chooses by a click or a key. @param names in the order shown */
export function choose(
  names: readonly string[],
  index: number,
  how: { readonly range?: boolean; readonly toggle?: boolean } = {},
): void {
  const name = names[index];
  if (name === undefined) return;
  active.value = index;
  if (how.range === true) {
    const [from, to] = [Math.min(anchor, index), Math.max(anchor, index)];
    selected.value = new Set(names.slice(from, to + 1));
    return;
  }
  anchor = index;
  const next = new Set(how.toggle === true ? selected.value : []);
  if (how.toggle === true && next.has(name)) next.delete(name);
  else next.add(name);
  selected.value = next;
}

export const chooseAll = (names: readonly string[]): void => {
  selected.value = new Set(names);
};

/** Chosen names in the order shown; without any the one that has the focus. */
export function chosen(names: readonly string[]): readonly string[] {
  const some = names.filter((name) => selected.value.has(name));
  const focused = names[active.value];
  return some.length > 0 || focused === undefined ? some : [focused];
}
