// Two versions of one file: what does not overlap is merged, the rest is marked; saved under *their* version.

import { diff3Merge } from "node-diff3";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change } from "../api/call.js";
import { codeOf } from "../api/errors.js";
import { freeName } from "../files/actions/name-conflict.js";
import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { joinPath, nameOf, parentOf } from "../ui/format.js";
import { notify, notifyFailure } from "../ui/notices.js";
import { type Buffer, type ReadText, readText } from "./buffers.js";

interface Merged {
  readonly text: string;
  readonly conflicts: number;
}

/** Merges by lines. What both changed stands between marks, with what was before. */
export function merge(mine: string, base: string, theirs: string): Merged {
  const [a, o, b] = [mine, base, theirs].map((text) => text.split("\n"));
  let conflicts = 0;
  const regions = diff3Merge(a ?? [], o ?? [], b ?? [], { excludeFalseConflicts: true });
  const lines = regions.flatMap(({ ok, conflict }) => {
    if (ok !== undefined) return ok;
    if (conflict === undefined) return [];
    conflicts += 1;
    return [
      `<<<<<<< ${texts.mine}`,
      ...conflict.a,
      `||||||| ${texts.baseVersion}`,
      ...conflict.o,
      "=======",
      ...conflict.b,
      `>>>>>>> ${texts.theirs}`,
    ];
  });
  return { text: lines.join("\n"), conflicts };
}

/** Shows both versions until one decides. Dismissed, everything stays as it is. */
export async function resolveConflict(buffer: Buffer): Promise<void> {
  let theirs: ReadText;
  try {
    theirs = await readText(buffer);
  } catch (error) {
    notifyFailure(error);
    return;
  }
  await showDialog<void>((close) => <ConflictDialog buffer={buffer} theirs={theirs} close={() => close()} />);
}

interface ConflictProps {
  readonly buffer: Buffer;
  readonly theirs: ReadText;
  readonly close: () => void;
}

const MARKS = /^(?:<{7}|>{7}|\|{7}) /m;

function ConflictDialog({ buffer, theirs, close }: ConflictProps): JSX.Element {
  const plainTheirs = theirs.content.replace(/^\ufeff/, "");
  const merged = useMemo(() => merge(buffer.text(), buffer.base, plainTheirs), []);
  const result = useRef(merged.text);
  const [isWarned, setWarned] = useState(false);
  const takeTheirs = () => {
    buffer.take(theirs);
    buffer.notice.value = undefined;
    void buffer.keep();
    close();
  };
  const saveResult = async () => {
    if (MARKS.test(result.current) && !isWarned) {
      setWarned(true);
      return;
    }
    buffer.rebase(theirs);
    buffer.show(result.current);
    buffer.isDirty.value = true;
    close();
    await saveBuffer(buffer);
  };
  const saveCopy = async () => {
    const name = await freeName({ root: buffer.root, path: parentOf(buffer.path) }, nameOf(buffer.path));
    try {
      await change("file:write", {
        root: buffer.root,
        path: joinPath(parentOf(buffer.path), name),
        content: buffer.text(),
        ifNoneMatch: "*",
      });
      takeTheirs();
      notify(texts.savedCopy(name));
    } catch (error) {
      notifyFailure(error);
    }
  };
  return (
    <Dialog
      wide
      title={texts.conflictTitle}
      onClose={close}
      onSubmit={() => void saveResult()}
      footer={
        <>
          {isWarned ? <p class="warning">{texts.marksLeft}</p> : null}
          <button type="button" onClick={takeTheirs}>
            {texts.takeTheirs}
          </button>
          <button type="button" onClick={() => void saveCopy()}>
            {texts.saveCopy}
          </button>
          <button type="submit" class="primary">
            {texts.saveMerged}
          </button>
        </>
      }
    >
      <p>{texts.conflictLead(merged.conflicts)}</p>
      <div class="versions">
        <Version title={texts.theirs} text={plainTheirs} path={buffer.path} />
        <Version
          title={texts.result}
          text={merged.text}
          path={buffer.path}
          onChange={(text) => (result.current = text)}
        />
        <Version title={texts.mine} text={buffer.text()} path={buffer.path} />
      </div>
      <details>
        <summary>{texts.baseVersion}</summary>
        <Version title={texts.baseVersion} text={buffer.base} path={buffer.path} />
      </details>
    </Dialog>
  );
}

interface VersionProps {
  readonly title: string;
  readonly text: string;
  readonly path: string;
  readonly onChange?: (text: string) => void;
}

function Version({ title, text, path, onChange }: VersionProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let destroy = () => {};
    void import("./codemirror.js").then((cm) => {
      if (place.current === null) return;
      const state = cm.createState({
        ...{ text, path, label: title, isReadOnly: onChange === undefined },
        onSave: () => {},
        onChange: (next) => onChange?.(cm.textOf(next)),
      });
      const view = cm.createView(place.current, state, path);
      destroy = () => view.destroy();
    });
    return () => destroy();
  }, []);
  return (
    <section class="version">
      <h3>{title}</h3>
      <div class="version-text" ref={place} />
    </section>
  );
}

/** Saves; a conflict is shown, any other failure is told. What was typed stays in both cases. */
export async function saveBuffer(buffer: Buffer): Promise<void> {
  if (buffer.isSaving.value) return;
  const isGone = buffer.notice.value?.kind === "deleted" || buffer.notice.value?.kind === "moved";
  try {
    await buffer.save(isGone);
    notify(texts.saved);
  } catch (error) {
    await buffer.keep();
    if (codeOf(error) === "CAPABILITY_DENIED") buffer.notice.value = { kind: "denied" };
    if (codeOf(error) === "CONFLICT" && !isGone) await resolveConflict(buffer);
    else notifyFailure(error);
  }
}
