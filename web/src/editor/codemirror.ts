// The editor's parts, in a chunk of their own.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { nonce } from "../api/base.js";
import { languageOf } from "./languages.js";
import { separatorOf } from "./merge.js";

/** Colours are those of the page, so that light, dark and forced colours hold here too. */
const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none", paddingLeft: "8px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line-active)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  "&.cm-focused": { outline: "none" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-searchMatch": { backgroundColor: "var(--match)" },
  ".cm-specialChar": { color: "var(--danger)" },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--syntax-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--syntax-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--syntax-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)", fontStyle: "italic" },
  {
    tag: [tags.definition(tags.variableName), tags.function(tags.variableName), tags.propertyName],
    color: "var(--syntax-name)",
  },
  { tag: [tags.typeName, tags.className, tags.tagName, tags.attributeName], color: "var(--syntax-type)" },
  { tag: tags.heading, fontWeight: "bold", color: "var(--syntax-name)" },
  { tag: tags.link, textDecoration: "underline" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strong, fontWeight: "bold" },
]);

/** Bidi and zero-width characters are shown, so that no code hides in a line. */
const HIDDEN = /[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** Extensions that every view of text has. */
export const common = (): Extension => [
  theme,
  syntaxHighlighting(highlighting),
  EditorView.cspNonce.of(nonce),
  lineNumbers(),
  highlightSpecialChars({ addSpecialChars: HIDDEN }),
  drawSelection(),
];

export interface EditorOptions {
  readonly text: string | Text;
  readonly path: string;
  readonly label: string;
  readonly isReadOnly: boolean;
  /** Absent: that of the text. Line ends stay as they are: all the same, or each as it is. */
  readonly separator?: string;
  readonly more?: Extension;
  readonly onChange: (state: EditorState) => void;
  readonly onSave: () => void;
}

const editability = new Compartment();
const language = new Compartment();

export const readOnly = (isReadOnly: boolean): Extension => EditorState.readOnly.of(isReadOnly);
export const setReadOnly = (view: EditorView, isReadOnly: boolean): void =>
  view.dispatch({ effects: editability.reconfigure(readOnly(isReadOnly)) });

/** Makes the state of an editor. */
export function createState(options: EditorOptions): EditorState {
  const { text, label, isReadOnly, separator = separatorOf(`${text}`), more = [], onChange, onSave } = options;
  const save = () => {
    onSave();
    return true;
  };
  return EditorState.create({
    doc: text,
    extensions: [
      EditorState.lineSeparator.of(separator),
      common(),
      foldGutter(),
      history(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      search({ top: true }),
      editability.of(readOnly(isReadOnly)),
      language.of([]),
      // Escape, then Tab leaves the editor: nobody is caught in it.
      keymap.of([
        { key: "Mod-s", run: save, preventDefault: true },
        indentWithTab,
        ...defaultKeymap,
        ...historyKeymap,
        ...searchKeymap,
      ]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      more,
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state);
      }),
    ],
  });
}

/** Largest text that is coloured: beyond, the parser would cost more than it gives. */
const MAX_COLOURED = 2_000_000;

/** Shows a state, and colours it when its language is there. */
export function createView(parent: HTMLElement, state: EditorState, path: string): EditorView {
  const view = new EditorView({ parent, state });
  if (state.doc.length <= MAX_COLOURED) {
    void languageOf(path).then((found) => {
      if (found !== undefined && view.dom.isConnected) view.dispatch({ effects: language.reconfigure(found) });
    });
  }
  return view;
}

/** Text of a state, with its own line ends. */
export const textOf = (state: EditorState): string => state.sliceDoc();

/** Goes to a line, from 1. */
export const goToLine = (view: EditorView, line: number): void =>
  goTo(view, view.state.doc.line(Math.max(1, Math.min(view.state.doc.lines, line))).from);

/** Goes to a position. */
export const goTo = (view: EditorView, at: number): void =>
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });

export { EditorState, EditorView };
