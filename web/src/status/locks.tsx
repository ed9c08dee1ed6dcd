// Locks of WebDAV clients, for the operator: one that was forgotten keeps others from writing.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, read } from "../api/call.js";
import { offers, who } from "../api/catalogue.js";
import { personOf } from "../api/labels.js";
import type { DavLock } from "../api/operations.js";
import { texts } from "../texts.js";
import { formatAgo } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { notifyFailure } from "../ui/notices.js";

/** The locks; nothing where there are none. */
export function LocksSection(): JSX.Element | null {
  const [locks, setLocks] = useState<readonly DavLock[]>([]);
  const load = () => {
    if (who.value?.operator !== true || !offers("lock:list")) setLocks([]);
    else void read("lock:list", {}).then((page) => setLocks(page.locks), notifyFailure);
  };
  useEffect(load, [who.value?.did]);
  const drop = (id: string) => void change("lock:drop", { id }).catch(notifyFailure).then(load);
  if (locks.length === 0) return null;
  return (
    <section>
      <h2>{texts.locks}</h2>
      <ul class="jobs">
        {locks.map(({ id, root, drive, path, owner, holder, since, until }) => {
          const place = `${root ?? drive}/${path}`;
          return (
            <li key={id}>
              <Name text={place} />
              <Name text={owner === "" ? personOf(holder) : `${personOf(holder)}: ${owner}`} title={holder} />
              <span class="hint">{texts.lockTimes(formatAgo(since), formatAgo(until))}</span>
              <span class="spring" />
              <button type="button" aria-label={texts.dropLockOn(place)} onClick={() => drop(id)}>
                {texts.dropLock}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
