// Reports the progress of a copy while its source is read.

import { countText, type ReportProgress } from "../../core/call/progress.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";

/** A source that reports what is read from it: bytes of a file, entries of a directory. */
export function watchedSource(source: TreeSource, report: ReportProgress): TreeSource {
  let entries = 0;
  const next = async (): Promise<SourceEntry | undefined> => {
    const entry = await source.next();
    if (entry !== undefined) report(++entries, undefined, () => `${countText(entries, "entry", "entries")} copied`);
    return entry;
  };
  return {
    top: source.top.type === "file" ? watchedEntry(source.top, report) : source.top,
    ...(source.identity === undefined ? {} : { identity: source.identity }),
    next,
    get left() {
      return source.left;
    },
    get refusal() {
      return source.refusal;
    },
    isUnchanged: () => source.isUnchanged(),
    close: () => source.close(),
  };
}

function watchedEntry(entry: SourceEntry, report: ReportProgress): SourceEntry {
  const open = async (): Promise<OpenFile> => {
    const file = await entry.open();
    return {
      ...{ size: file.size, modified: file.modified },
      ...(file.descriptor === undefined ? {} : { descriptor: file.descriptor }),
      async read(offset, length) {
        const bytes = await file.read(offset, length);
        const done = offset + bytes.length;
        report(done, Math.max(done, file.size));
        return bytes;
      },
      close: () => file.close(),
    };
  };
  return { ...entry, open };
}
