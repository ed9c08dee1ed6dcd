// A text file: the editor, its state, and beside it the preview of markdown.

import { Columns2, Eye, Pencil, Save, Undo2 } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { who } from "../../api/catalogue.js";
import { codeOf } from "../../api/errors.js";
import { BufferNotices } from "../../editor/buffer-notices.js";
import { type Buffer, bufferOf, release } from "../../editor/buffers.js";
import { saveBuffer } from "../../editor/conflict.js";
import { followBuffer } from "../../editor/follow.js";
import { TextEditor } from "../../editor/text-editor.js";
import { PreviewFrame } from "../../preview/frame.js";
import { texts } from "../../texts.js";
import { formatSize } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { navigate, route } from "../../ui/router.js";
import { Failure, Skeleton } from "../../ui/states.js";
import type { ShownAs } from "../kinds.js";
import { areRootsKnown, mayChange } from "../roots.js";
import { FileButtons } from "./file-view.js";

interface TextProps {
  readonly root: string;
  readonly path: string;
  readonly kind: ShownAs;
  readonly onTooLarge: () => void;
}

export function TextView({ root, path, kind, onTooLarge }: TextProps): JSX.Element {
  const [buffer, setBuffer] = useState<Buffer | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const did = who.value?.did;
  useEffect(() => {
    const own = bufferOf(root, path);
    setError(undefined);
    own.ready().then(
      () => setBuffer(own),
      (failure: unknown) => {
        release(own);
        if (codeOf(failure) === "TOO_LARGE") onTooLarge();
        else setError(failure);
      },
    );
    const stop = followBuffer(own);
    return () => {
      stop();
      void own.keep();
      release(own);
    };
  }, [root, path, did]);
  if (error !== undefined) return <Failure error={error} />;
  if (buffer === undefined || buffer.did !== did || !areRootsKnown()) return <Skeleton rows={12} />;
  return <Loaded buffer={buffer} kind={kind} />;
}

type Mode = "source" | "preview" | "split";

function Loaded({ buffer, kind }: { readonly buffer: Buffer; readonly kind: ShownAs }): JSX.Element {
  const { root, path } = buffer;
  const canPreview = kind === "markdown" || kind === "html";
  const asked = route.value.query.get("view");
  const first: Mode = kind === "markdown" ? (innerWidth < 900 ? "preview" : "split") : "source";
  const mode: Mode = !canPreview
    ? "source"
    : asked === "source" || asked === "preview" || asked === "split"
      ? asked
      : first;
  const mayWrite = mayChange(root, path, "crud/write") && buffer.notice.value?.kind !== "denied";
  const line = Number(route.value.query.get("line") ?? "") || undefined;
  return (
    <>
      <Toolbar buffer={buffer} mode={mode} canPreview={canPreview} mayWrite={mayWrite} />
      <BufferNotices buffer={buffer} />
      <div class={`text-view ${mode}`}>
        {mode === "preview" ? null : (
          <TextEditor buffer={buffer} isReadOnly={!mayWrite} line={line} onSave={() => void saveBuffer(buffer)} />
        )}
        {mode === "source" ? null : <PreviewFrame buffer={buffer} kind={kind === "html" ? "html" : "markdown"} />}
      </div>
    </>
  );
}

interface ToolbarProps {
  readonly buffer: Buffer;
  readonly mode: Mode;
  readonly canPreview: boolean;
  readonly mayWrite: boolean;
}

function Toolbar({ buffer, mode, canPreview, mayWrite }: ToolbarProps): JSX.Element {
  const isDirty = buffer.isDirty.value;
  const state = buffer.isSaving.value ? texts.saving : isDirty ? texts.unsaved : "";
  return (
    <div class="toolbar" role="toolbar" aria-label={texts.edit}>
      <span class="hint">{[formatSize(buffer.size), buffer.encoding].join(" · ")}</span>
      <span class={isDirty ? "state unsaved" : "state"} role="status">
        {state}
      </span>
      {mayWrite ? null : (
        <span class="tag" title={texts.readOnlyReason}>
          {texts.readOnly}
        </span>
      )}
      <span class="spring" />
      {canPreview ? <Modes mode={mode} /> : null}
      <FileButtons root={buffer.root} path={buffer.path} />
      {isDirty ? (
        <button type="button" class="quiet" title={texts.discard} onClick={() => void buffer.discard()}>
          <Icon of={Undo2} />
          <span class="wide-only">{texts.discard}</span>
        </button>
      ) : null}
      {mayWrite ? (
        <button
          type="button"
          class="primary"
          disabled={!isDirty || buffer.isSaving.value}
          onClick={() => void saveBuffer(buffer)}
        >
          <Icon of={Save} />
          <span class="wide-only">{texts.save}</span>
        </button>
      ) : null}
    </div>
  );
}

function Modes({ mode }: { readonly mode: Mode }): JSX.Element {
  const show = (next: Mode) => {
    const query = new URLSearchParams(location.search);
    query.set("view", next);
    navigate(`${location.pathname}?${query}`, { replace: true });
  };
  const button = (own: Mode, label: string, icon: unknown) => (
    <button
      type="button"
      class={`quiet ${own}-mode`}
      aria-pressed={mode === own}
      title={label}
      aria-label={label}
      onClick={() => show(own)}
    >
      <Icon of={icon} />
    </button>
  );
  return (
    <div class="segments" role="group" aria-label={texts.viewAs}>
      {button("source", texts.source, Pencil)}
      {button("split", texts.split, Columns2)}
      {button("preview", texts.preview, Eye)}
    </div>
  );
}
