// Differences by CodeMirror: side by side or unified, unchanged parts folded, coarse where nothing is alike.

import { type Chunk, getChunks, getOriginalDoc, MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { common } from "../editor/codemirror.js";
import { texts } from "../texts.js";

export interface Counts {
  readonly added: number;
  readonly removed: number;
}

export interface DiffOptions {
  readonly before: string;
  readonly after: string;
  readonly path: string;
  readonly label: string;
  readonly isSplit: boolean;
  /** Called with the text in which one part is as before. The buttons are seen where `may-undo` is a class of the element. */
  readonly onUndoPart: (text: string) => void;
}

/** After these, the difference is by whole lines. */
const PRECISION = { scanLimit: 1000, timeout: 400 };
const FOLD = { margin: 3, minSize: 6 };

/** Counted from the chunks of the view: a second comparison would take as long as the first. */
function countsOf({ before, after }: DiffOptions, chunks: readonly Chunk[], a: Text, b: Text): Counts {
  const spanned = (doc: Text, from: number, to: number) =>
    to <= from ? 0 : doc.lineAt(Math.min(doc.length, to - 1)).number - doc.lineAt(from).number + 1;
  let [added, removed] = [0, 0];
  for (const { fromA, toA, fromB, toB } of chunks) {
    removed += before === "" ? 0 : spanned(a, fromA, toA);
    added += after === "" ? 0 : spanned(b, fromB, toB);
  }
  return { added, removed };
}

const readOnly = (label: string): Extension => [
  common(),
  EditorState.readOnly.of(true),
  EditorState.lineSeparator.of("\n"),
  EditorView.editable.of(false),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({
    "aria-label": label,
    tabindex: "0",
    role: "textbox",
    "aria-readonly": "true",
    "aria-multiline": "true",
  }),
];

/** Shows a difference in an element. */
export function showDiff(
  parent: HTMLElement,
  options: DiffOptions,
): { readonly counts: Counts; readonly destroy: () => void } {
  const { before, after, label, isSplit } = options;
  if (isSplit) {
    const side = (doc: string, title: string) => ({ doc, extensions: readOnly(`${label}: ${title}`) });
    const view = new MergeView({
      parent,
      a: side(before, texts.before),
      b: side(after, texts.after),
      collapseUnchanged: FOLD,
      diffConfig: PRECISION,
      highlightChanges: isPart(options),
      gutter: true,
    });
    const counts = countsOf(options, view.chunks, view.a.state.doc, view.b.state.doc);
    return { counts, destroy: () => view.destroy() };
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({ doc: after, extensions: [readOnly(label), unified(options)] }),
  });
  const { state } = view;
  const counts = countsOf(options, getChunks(state)?.chunks ?? [], getOriginalDoc(state), state.doc);
  return { counts, destroy: () => view.destroy() };
}

/** A new or removed file differs as a whole, so it needs no marks. */
const isPart = ({ before, after }: DiffOptions): boolean => before !== "" && after !== "";

function unified(options: DiffOptions): Extension {
  const { before, onUndoPart } = options;
  const merge = unifiedMergeView({
    original: before,
    collapseUnchanged: FOLD,
    diffConfig: PRECISION,
    highlightChanges: isPart(options),
    gutter: true,
    syntaxHighlightDeletions: false,
    mergeControls: (type, action) => controlOf(type, action),
  });
  const tell = EditorView.updateListener.of((update) => {
    if (update.docChanged) onUndoPart(update.state.sliceDoc());
  });
  return [merge, tell];
}

/** Only undoing a part is offered: there is nothing to accept in what has happened. */
function controlOf(type: "reject" | "accept", action: (event: MouseEvent) => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.hidden = type === "accept";
  button.className = "undo-part";
  button.textContent = texts.undoPart;
  button.addEventListener("click", action);
  return button;
}
