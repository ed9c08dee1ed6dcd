// Type-ahead among elements that take the focus themselves: the items of a menu, the folders of a picker.

import type { TypeAhead } from "./type-ahead.js";

/** Moves the focus among elements by their texts. @returns whether the key was one of a word */
export function focusByTyping(typing: TypeAhead, event: KeyboardEvent, elements: readonly HTMLElement[]): boolean {
  if (!typing.takes(event)) return false;
  const active = elements.indexOf(document.activeElement as HTMLElement);
  const found = typing.find(
    elements.map(({ textContent }) => (textContent ?? "").trim()),
    active,
  );
  if (found !== undefined) elements[found]?.focus();
  return true;
}
