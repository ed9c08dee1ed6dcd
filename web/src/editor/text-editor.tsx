// The editor of one file. The rest of CodeMirror is loaded with the first text.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { checkVersion } from "../api/version.js";
import { texts } from "../texts.js";
import { nameOf } from "../ui/format.js";
import { notifyFailure } from "../ui/notices.js";
import { Skeleton } from "../ui/states.js";
import type { Buffer } from "./buffers.js";
import { moved } from "./merge.js";

interface EditorProps {
  readonly buffer: Buffer;
  readonly isReadOnly: boolean;
  /** From 1. */
  readonly line: number | undefined;
  readonly onSave: () => void;
}

type Parts = typeof import("./codemirror.js");
let parts: Parts | undefined;
let loading: Promise<Parts> | undefined;

/** Loads the editor beside the text that it will show. @returns the same promise until it fails */
export function loadEditor(): Promise<Parts> {
  loading ??= import("./codemirror.js").then(
    (own) => {
      parts = own;
      return own;
    },
    (error: unknown) => {
      loading = undefined;
      // The script of an older page is gone from an updated venue.
      void checkVersion();
      throw error;
    },
  );
  return loading;
}

export function TextEditor({ buffer, isReadOnly, line, onSave }: EditorProps): JSX.Element {
  const [isLoaded, setLoaded] = useState(parts !== undefined);
  useEffect(() => {
    // The editor may have loaded since this was drawn, so test the state that was drawn.
    if (!isLoaded) loadEditor().then(() => setLoaded(true), notifyFailure);
  }, []);
  if (!isLoaded || parts === undefined) return <Skeleton rows={12} />;
  return <Mounted parts={parts} buffer={buffer} isReadOnly={isReadOnly} line={line} onSave={onSave} />;
}

function Mounted({
  parts: cm,
  buffer,
  isReadOnly,
  line,
  onSave,
}: EditorProps & { readonly parts: Parts }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<InstanceType<Parts["EditorView"]> | undefined>(undefined);
  const save = useRef(onSave);
  save.current = onSave;
  const revision = buffer.revision.value;
  useEffect(() => {
    const parent = place.current;
    if (parent === null) return;
    const shown = mount(cm, buffer, parent, isReadOnly, () => save.current());
    view.current = shown.view;
    return shown.unmount;
  }, [buffer, revision]);
  useEffect(() => {
    if (view.current !== undefined) cm.setReadOnly(view.current, isReadOnly);
  }, [isReadOnly]);
  useEffect(() => {
    if (view.current !== undefined && line !== undefined) cm.goToLine(view.current, line);
  }, [line]);
  return <div class="editor" ref={place} />;
}

/** A new editor that does not know yet that it is to be seen misses the event, and would show an empty place. */
function scrollTo(view: View, top: number): void {
  view.scrollDOM.scrollTop = top;
  view.requestMeasure();
}

function mount(cm: Parts, buffer: Buffer, parent: HTMLElement, isReadOnly: boolean, onSave: () => void) {
  const revision = buffer.revision.value;
  const kept = buffer.editorState as { state: ReturnType<Parts["createState"]>; scrollTop: number } | undefined;
  const scroll = { top: kept?.scrollTop ?? 0 };
  const base = { etag: "", doc: undefined as unknown };
  const state =
    kept?.state ??
    cm.createState({
      text: buffer.text(),
      path: buffer.path,
      label: texts.editorLabel(nameOf(buffer.path)),
      isReadOnly,
      onSave,
      onChange: (next) => {
        // The text of the saved version is made once for each version.
        if (base.etag !== buffer.etag || base.doc === undefined)
          Object.assign(base, { etag: buffer.etag, doc: next.toText(buffer.base) });
        buffer.text = () => cm.textOf(next);
        buffer.typed(!next.doc.eq(base.doc as typeof next.doc));
      },
    });
  const view = cm.createView(parent, state, buffer.path);
  buffer.position = () => view.state.selection.main.head;
  if (kept !== undefined) requestAnimationFrame(() => scrollTo(view, kept.scrollTop));
  // Counts even if the text is loaded again before it is shown.
  let waiting = buffer.place;
  buffer.place = undefined;
  if (waiting !== undefined) showAgain(view, waiting, () => (waiting = undefined));
  view.scrollDOM.addEventListener("scroll", () => (scroll.top = view.scrollDOM.scrollTop), { passive: true });
  return {
    view,
    unmount: () => {
      // Not when another text was loaded meanwhile: this one is over.
      if (buffer.revision.value === revision) buffer.editorState = { state: view.state, scrollTop: scroll.top };
      else buffer.place = waiting ?? placeOf(view, scroll.top);
      view.destroy();
    },
  };
}

type View = ReturnType<Parts["createView"]>;

/** A line on top may begin above the view. */
function placeOf(view: View, scrollTop: number): NonNullable<Buffer["place"]> {
  const top = view.lineBlockAtHeight(scrollTop);
  const { state } = view;
  return {
    ...{ text: state.doc.toString(), at: state.selection.main.head, hasFocus: view.hasFocus },
    ...{ top: top.from, above: scrollTop - top.top },
  };
}

/** Shows another version of a text where one was in it. */
function showAgain(view: View, place: NonNullable<Buffer["place"]>, onShown: () => void): void {
  const after = view.state.doc.toString();
  const inView = (position: number) => Math.min(moved(position, place.text, after), view.state.doc.length);
  view.dispatch({ selection: { anchor: inView(place.at) } });
  if (place.hasFocus) view.focus();
  const line = inView(place.top);
  requestAnimationFrame(() => {
    scrollTo(view, view.lineBlockAt(line).top + place.above);
    onShown();
  });
}
