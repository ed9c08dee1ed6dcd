// Lists who can do what on one path, and by which grant.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { AccessEntry } from "../api/operations.js";
import { FolderChooser } from "../files/actions/folder-picker.js";
import type { Target } from "../files/actions/relocate.js";
import { loadRoots, roots } from "../files/roots.js";
import { grantText, texts } from "../texts.js";
import { Name } from "../ui/name.js";
import { grantsFor, holderOf } from "./rights.js";

export function ByPath({ entries }: { readonly entries: readonly AccessEntry[] }): JSX.Element {
  const [place, setPlace] = useState<Target>({ root: "", path: "" });
  const [ability, setAbility] = useState("crud/write");
  useEffect(() => {
    if (roots.value === undefined) void loadRoots();
  }, []);
  const found = entries
    .map((entry) => ({ entry, grants: grantsFor(entry, ability, place.root, place.path) }))
    .filter(({ grants }) => grants.length > 0);
  return (
    <div class="by-path">
      <div class="fields">
        <FolderChooser place={place} onPlace={setPlace} />
        <label>
          {texts.mayDo}
          <select value={ability} onChange={(event) => setAbility(event.currentTarget.value)}>
            {Object.entries(texts.abilities).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ul class="reasons" aria-live="polite">
        {place.root === "" ? <li class="hint">{texts.pickPath}</li> : null}
        {place.root === ""
          ? null
          : found.map(({ entry, grants }, index) => (
              <li key={entry.id ?? `${entry.kind}-${index}`}>
                <strong>
                  <Name text={holderOf(entry)} />
                </strong>
                <small>{texts.kinds[entry.kind] ?? entry.kind}</small>
                <span>{texts.because(grants.map(grantText).join("; "))}</span>
              </li>
            ))}
      </ul>
    </div>
  );
}
