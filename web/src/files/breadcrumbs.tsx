// Breadcrumbs: each part of the path leads to its folder.

import { ChevronRight } from "lucide";
import type { JSX } from "preact";
import { texts } from "../texts.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf } from "../ui/router.js";

interface Place {
  readonly root: string;
  readonly path: string;
  readonly isDirectory: boolean;
  /** Where the parts lead. */
  readonly place?: "files" | "changes";
}

export function Breadcrumbs({ root, path, isDirectory, place = "files" }: Place): JSX.Element {
  const names = path === "" ? [] : path.split("/");
  const parts = [root, ...names].map((name, index) => ({
    name,
    path: names.slice(0, index).join("/"),
    isLast: index === names.length,
  }));
  return (
    <nav class="breadcrumbs" aria-label={texts.path}>
      <ol>
        <li>
          <a href={addressOf(place)}>{texts.roots}</a>
        </li>
        {parts.map((part) => (
          <li key={part.path === "" ? "/" : part.path}>
            <Icon of={ChevronRight} size={14} />
            <a
              href={addressOf(place, root, part.path, { directory: !part.isLast || isDirectory })}
              aria-current={part.isLast ? "page" : undefined}
            >
              <Name text={part.name} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
