// Two versions of one file: what does not overlap is merged, and for the rest one chooses; saved under *their* version.

import { ChevronDown, ChevronUp } from "lucide";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { change } from "../api/call.js";
import { codeOf } from "../api/errors.js";
import { freeName } from "../files/actions/name-conflict.js";
import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { joinPath, nameOf, parentOf } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { notify, notifyFailure } from "../ui/notices.js";
import { type Buffer, type ReadText, readText } from "./buffers.js";
import { isPlace, moved, type Part, partsOf, separatorOf } from "./merge.js";

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

/** The merged text so far, and the places left to decide. */
interface Result {
  readonly text: () => string;
  readonly undecided: () => number;
  readonly go: (forward: boolean, isOpen?: boolean) => void;
}

function ConflictDialog({ buffer, theirs, close }: ConflictProps): JSX.Element {
  const merge = useMemo(() => mergeOf(buffer, theirs.content.replace(/^\ufeff/, "")), []);
  const places = merge.parts.filter(isPlace);
  const [open, setOpen] = useState(places.filter(({ by }) => by === "both").length);
  const [isWarned, setWarned] = useState(false);
  const result = useRef<Result | undefined>(undefined);
  const takeTheirs = () => {
    buffer.take(theirs);
    buffer.notice.value = undefined;
    void buffer.keep();
    close();
  };
  const saveResult = async () => {
    if (result.current === undefined) return;
    if (result.current.undecided() > 0) {
      setWarned(true);
      result.current.go(true, true);
      return;
    }
    buffer.rebase(theirs);
    buffer.show(result.current.text());
    buffer.isDirty.value = true;
    close();
    await saveBuffer(buffer);
  };
  return (
    <Dialog
      wide
      title={texts.conflictTitle}
      onClose={close}
      onSubmit={() => void saveResult()}
      footer={
        <>
          {isWarned && open > 0 ? <p class="warning">{texts.decideFirst(open)}</p> : null}
          <button type="button" onClick={takeTheirs}>
            {texts.takeTheirs}
          </button>
          <button type="button" onClick={() => void saveCopy(buffer, takeTheirs)}>
            {texts.saveCopy}
          </button>
          <button type="submit" class="primary">
            {texts.saveMerged}
          </button>
        </>
      }
    >
      <div class="row merge-bar">
        <p role="status">{texts.conflictLead(places.length, open)}</p>
        <span class="spring" />
        <Jump result={result} />
      </div>
      <MergeEditor buffer={buffer} merge={merge} result={result} onUndecided={setOpen} />
    </Dialog>
  );
}

interface Merge {
  readonly parts: readonly Part[];
  readonly separator: string;
}

function mergeOf(buffer: Buffer, theirs: string): Merge {
  const mine = buffer.text();
  const separator = separatorOf(mine) === separatorOf(theirs) ? separatorOf(mine) : "\n";
  const [own, before, other] = [mine, buffer.base, theirs].map((text) => text.split(separator));
  return { parts: partsOf(own ?? [], before ?? [], other ?? []), separator };
}

async function saveCopy(buffer: Buffer, takeTheirs: () => void): Promise<void> {
  const { root, path } = buffer;
  const name = await freeName({ root, path: parentOf(path) }, nameOf(path));
  try {
    const to = joinPath(parentOf(path), name);
    await change("file:write", { root, path: to, content: buffer.text(), ifNoneMatch: "*" });
    takeTheirs();
    notify(texts.savedCopy(name));
  } catch (error) {
    notifyFailure(error);
  }
}

function Jump({ result }: { readonly result: { readonly current: Result | undefined } }): JSX.Element {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!event.altKey || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
      // Before the editor, which would move a line.
      event.preventDefault();
      event.stopPropagation();
      result.current?.go(event.key === "ArrowDown");
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, []);
  const button = (forward: boolean, label: string, keys: string, icon: unknown) => (
    <button type="button" title={`${label} (${keys})`} onClick={() => result.current?.go(forward)}>
      <Icon of={icon} />
      {label}
    </button>
  );
  return (
    <>
      {button(false, texts.previousPlace, "Alt+↑", ChevronUp)}
      {button(true, texts.nextPlace, "Alt+↓", ChevronDown)}
    </>
  );
}

interface MergeProps {
  readonly buffer: Buffer;
  readonly merge: Merge;
  readonly result: { current: Result | undefined };
  readonly onUndecided: (many: number) => void;
}

function MergeEditor({ buffer, merge, result, onUndecided }: MergeProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let destroy = () => {};
    void Promise.all([import("./codemirror.js"), import("./merge-view.js")]).then(([cm, places]) => {
      if (place.current === null) return;
      const { doc, spots } = places.startOf(merge.parts);
      const state = cm.createState({
        ...{ text: doc, path: buffer.path, label: texts.result, isReadOnly: false, separator: merge.separator },
        more: places.mergePlaces(spots, onUndecided),
        onSave: () => {},
        onChange: () => {},
      });
      const view = cm.createView(place.current, state, buffer.path);
      const mine = buffer.text();
      cm.goTo(view, Math.min(moved(buffer.position(), inLines(mine), doc.toString()), doc.length));
      view.focus();
      const end = places.needsEnd(merge.parts) ? merge.separator : "";
      result.current = {
        text: () => withoutEnd(cm.textOf(view.state), end),
        undecided: () => places.undecidedIn(view.state),
        go: (forward, isOpen) => places.goToPlace(view, forward, isOpen),
      };
      destroy = () => view.destroy();
    }, notifyFailure);
    return () => destroy();
  }, []);
  return <div class="merge" ref={place} />;
}

const inLines = (text: string): string => text.split(separatorOf(text)).join("\n");

const withoutEnd = (text: string, end: string): string =>
  end !== "" && text.endsWith(end) ? text.slice(0, -end.length) : text;

/** Saves; a conflict is shown, any other failure is told. The typed text stays in both cases. */
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
