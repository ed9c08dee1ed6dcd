// A name, path or other untrusted text: a text node in which nothing is hidden, in its own direction.

import type { JSX } from "preact";
import { plain } from "./format.js";

export function Name({ text, title }: { readonly text: string; readonly title?: string }): JSX.Element {
  return (
    <bdi class="name" dir="auto" title={title ?? plain(text)}>
      {plain(text)}
    </bdi>
  );
}
