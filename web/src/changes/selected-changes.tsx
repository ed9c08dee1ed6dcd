// Shows what some changes did, file by file, and offers to undo them.

import { Undo2 } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { offers } from "../api/catalogue.js";
import { personOf } from "../api/labels.js";
import type { HistoryEntry } from "../api/operations.js";
import { texts } from "../texts.js";
import { formatClock, formatMoment, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { FileDiff } from "./file-diff.js";
import { filesOf } from "./sessions.js";
import { undo } from "./undo.js";

interface ChosenProps {
  /** Newest first. */
  readonly entries: readonly HistoryEntry[];
  readonly reload: () => void;
}

const NARROW = 900;

export function Chosen({ entries, reload }: ChosenProps): JSX.Element {
  const [isSplit, setSplit] = useState(innerWidth >= 1400);
  const files = filesOf(entries);
  const others = entries.filter(({ kind }) => kind !== "file");
  const [newest, oldest] = [entries[0], entries.at(-1)];
  const when =
    newest === oldest
      ? formatMoment(newest?.time ?? 0)
      : `${formatMoment(oldest?.time ?? 0)} – ${formatClock(newest?.time ?? 0)}`;
  return (
    <>
      <div class="toolbar" role="toolbar" aria-label={texts.compare}>
        <span>
          <strong>{texts.session(files.length, entries.length)}</strong> <span class="hint">{when}</span>
        </span>
        <span class="spring" />
        {innerWidth < NARROW ? null : (
          <div class="segments" role="group" aria-label={texts.viewAs}>
            <button type="button" class="quiet" aria-pressed={!isSplit} onClick={() => setSplit(false)}>
              {texts.unified}
            </button>
            <button type="button" class="quiet" aria-pressed={isSplit} onClick={() => setSplit(true)}>
              {texts.sideBySide}
            </button>
          </div>
        )}
        {offers("file:undo") ? (
          <button type="button" class="primary" onClick={() => void undo(entries).then(reload)}>
            <Icon of={Undo2} />
            {texts.undoThis}
          </button>
        ) : null}
      </div>
      <div class="diffs">
        <Others entries={others} />
        {files.map((file) => (
          <FileDiff
            key={`${file.before ?? ""} ${file.after ?? ""}`}
            file={file}
            isSplit={isSplit && innerWidth >= NARROW}
            reload={reload}
          />
        ))}
      </div>
    </>
  );
}

/** Folders and links have no text to compare. */
function Others({ entries }: { readonly entries: readonly HistoryEntry[] }): JSX.Element | null {
  if (entries.length === 0) return null;
  return (
    <ul class="other-changes">
      {entries.map(({ id, actor, op, root, path, from, fromRoot, undoable, reason = "" }) => (
        <li key={id}>
          {`${personOf(actor)} ${texts.change(op)} ${plain(`${root}/${path}`)}`}
          {from === undefined ? "" : ` ← ${plain(`${fromRoot ?? root}/${from}`)}`}{" "}
          {undoable ? null : <span class="hint">{texts.notUndoable(reason)}</span>}
        </li>
      ))}
    </ul>
  );
}
