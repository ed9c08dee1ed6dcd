// The difference of one file: from before the first change to after the last.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { change, read } from "../api/call.js";
import { offers, takes } from "../api/catalogue.js";
import { asApiError } from "../api/errors.js";
import { shownAs } from "../files/kinds.js";
import { mayChange } from "../files/roots.js";
import { ImageView } from "../files/viewing/image-view.js";
import { texts } from "../texts.js";
import { formatSize, nameOf, plain } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { notify, notifyFailure } from "../ui/notices.js";
import { addressOf } from "../ui/router.js";
import { Skeleton } from "../ui/states.js";
import type { Counts } from "./diff-view.js";
import type { FileChange } from "./sessions.js";

interface DiffProps {
  readonly file: FileChange;
  readonly isSplit: boolean;
  readonly reload: () => void;
}

/** Pixels beyond the view in which differences are made already. */
const AHEAD = "1000px";

/** Whether an element is or was near the view. */
function useNear(element: { readonly current: Element | null }): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (all) => {
        if (!all.some(({ isIntersecting }) => isIntersecting)) return;
        setNear(true);
        observer.disconnect();
      },
      // The margin must be that of the scrolling list, or the list clips it.
      { root: element.current?.closest(".diffs") ?? null, rootMargin: AHEAD },
    );
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return isNear;
}

export function FileDiff({ file, isSplit, reload }: DiffProps): JSX.Element {
  const [isOpen, setOpen] = useState(true);
  const element = useRef<HTMLDetailsElement>(null);
  const isNear = useNear(element);
  const [counts, setCounts] = useState<Counts | undefined>(undefined);
  const { root, path, before, after, entries } = file;
  const last = entries[0];
  const [kind, tone] = kindOf(file);
  return (
    <details class="file-diff" ref={element} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name text={`${root}/${path}`} />
        {kind === "" ? null : <span class={`tag ${tone}`}>{kind}</span>}
        {counts === undefined ? null : (
          <span class="counts">
            <ins>+{counts.added}</ins> <del>−{counts.removed}</del>
          </span>
        )}
        {last === undefined || last.undoable ? null : <span class="hint">{texts.notUndoable(last.reason ?? "")}</span>}
      </summary>
      {isOpen && isNear ? <Versions file={file} isSplit={isSplit} onCounts={setCounts} reload={reload} /> : null}
      <footer class="row">
        {after === undefined ? null : (
          <a class="button quiet" href={addressOf("files", root, path)}>
            {texts.open}
          </a>
        )}
        {before !== undefined && offers("file:restore") && mayChange(root, path, "crud/write") ? (
          <button type="button" class="quiet" onClick={() => void restore(file, before).then(reload)}>
            {texts.restoreBefore}
          </button>
        ) : null}
      </footer>
    </details>
  );
}

/** The label of a new or removed file, and its colour. */
function kindOf({ before, after }: FileChange): [string, string] {
  if (before === undefined) return after === undefined ? [texts.addedAndRemoved, ""] : [texts.added, "good"];
  return after === undefined ? [texts.removed, "danger"] : ["", ""];
}

async function restore({ root, path }: FileChange, to: string): Promise<void> {
  try {
    await change("file:restore", { root, path, to });
    notify(texts.restored(nameOf(path)));
  } catch (error) {
    notifyFailure(error);
  }
}

interface VersionsProps {
  readonly file: FileChange;
  readonly isSplit: boolean;
  readonly onCounts: (counts: Counts) => void;
  readonly reload: () => void;
}

const LARGEST_BYTES = 4_000_000;

/** In a chunk of its own, with the editor; it is loaded beside the texts. */
const loadDiffView = () => import("./diff-view.js");

function Versions({ file, isSplit, onCounts, reload }: VersionsProps): JSX.Element {
  const { root, path, before, after, size } = file;
  const [both, setBoth] = useState<readonly [string, string] | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const isImage = shownAs(nameOf(path)) === "image";
  useEffect(() => {
    if (isImage) return;
    if (!takes("file:read", "version")) setProblem(texts.noDiff);
    else if (size > LARGEST_BYTES) setProblem(texts.previewTooLarge);
    else
      Promise.all([versionText(file, before), versionText(file, after), loadDiffView()]).then(
        ([old, now]) => setBoth([old, now]),
        (error: unknown) => setProblem(textOf(error)),
      );
  }, [root, path, before, after]);
  if (isImage) return <Images root={root} path={path} before={before} after={after} size={size} />;
  if (problem !== "") return <p class="note">{`${plain(problem)} ${formatSize(size)}`}</p>;
  if (both === undefined) return <Skeleton rows={4} />;
  return <TextDiff file={file} both={both} isSplit={isSplit} onCounts={onCounts} reload={reload} />;
}

const textOf = (error: unknown): string => {
  const { code, message } = asApiError(error);
  return code === "NOT_FOUND" ? texts.noDiff : code === "NOT_TEXT" ? texts.binaryDiff : message;
};

async function versionText({ root, path }: FileChange, version: string | undefined): Promise<string> {
  if (version === undefined) return "";
  const { content = "" } = await read("file:read", { root, path, mode: "text", version });
  return content;
}

function Images({
  root,
  path,
  before,
  after,
  size,
}: Pick<FileChange, "root" | "path" | "before" | "after" | "size">): JSX.Element {
  const one = (title: string, version: string | undefined) =>
    version === undefined ? null : (
      <figure>
        <figcaption>{title}</figcaption>
        <ImageView root={root} path={path} size={size} version={version} />
      </figure>
    );
  return (
    <div class="images">
      {one(texts.before, before)}
      {one(texts.after, after)}
    </div>
  );
}

interface TextDiffProps extends VersionsProps {
  readonly both: readonly [string, string];
}

function TextDiff({ file, both, isSplit, onCounts, reload }: TextDiffProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [mayUndo, setMayUndo] = useState(false);
  useEffect(() => {
    let destroy = () => {};
    let isGone = false;
    void loadDiffView().then(({ showDiff }) => {
      if (place.current === null || isGone) return;
      const [before, after] = both;
      const onUndoPart = (text: string) => void undoPart(file, text).then(reload);
      const label = texts.changesOf(file.path);
      const shown = showDiff(place.current, { ...{ before, after, isSplit, label, onUndoPart }, path: file.path });
      onCounts(shown.counts);
      destroy = shown.destroy;
    });
    void isNewest(file).then((mayUndo) => setMayUndo(mayUndo));
    return () => {
      isGone = true;
      destroy();
    };
  }, [both, isSplit]);
  return <div class={mayUndo ? "diff may-undo" : "diff"} ref={place} />;
}

/** Whether nothing was changed since, so that a part can be taken back by writing the file. */
async function isNewest({ root, path, after, afterEtag }: FileChange): Promise<boolean> {
  if (after === undefined || afterEtag === undefined || !mayChange(root, path, "crud/write")) return false;
  const now = await read("file:stat", { root, path, hash: true }).catch(() => undefined);
  return now?.etag === afterEtag;
}

async function undoPart({ root, path, afterEtag = "" }: FileChange, text: string): Promise<void> {
  try {
    await change("file:write", { root, path, content: text, ifMatch: afterEtag });
    notify(texts.partUndone);
  } catch (error) {
    notifyFailure(error);
  }
}
