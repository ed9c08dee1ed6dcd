// Icons: the data of lucide, drawn by one component.

import { h, type JSX } from "preact";

type IconData = readonly (readonly [tag: string, attributes: Readonly<Record<string, string | number | undefined>>])[];

/** Decorative: what it stands beside says what it means. */
export function Icon({ of, size = 16 }: { readonly of: unknown; readonly size?: number }): JSX.Element {
  const parts = (of as IconData).map(([tag, attributes], index) => h(tag, { ...attributes, key: index }));
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {parts}
    </svg>
  );
}
