// A merged text in an editor. Each place where the versions differ says who changed what, and takes one version, the other or both.

import { invertedEffects } from "@codemirror/commands";
import { presentableDiff } from "@codemirror/merge";
import { type EditorState, type Extension, StateEffect, StateField, Text, type Transaction } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { texts } from "../texts.js";
import { plain } from "../ui/format.js";
import { isPlace, type Part, type Place } from "./merge.js";

export type Choice = "mine" | "theirs" | "both";
type Version = "mine" | "theirs" | "before";

/** A place in the text: whole lines, perhaps none. */
interface Spot {
  readonly place: Place;
  readonly from: number;
  readonly to: number;
  /** `edited`: by hand. `undefined`: nobody has decided yet. */
  readonly choice: Choice | "edited" | undefined;
}

const linesOf = ({ mine, theirs }: Place, choice: Choice): readonly string[] =>
  choice === "both" ? [...mine, ...theirs] : choice === "mine" ? mine : theirs;

/** A place that both changed stays as it was typed until the user decides. */
const firstChoice = ({ by }: Place): Choice | undefined => (by === "both" ? undefined : by);

/** Each part with a line break at its end, so that a place without lines is one too. */
export function startOf(parts: readonly Part[]): { readonly doc: Text; readonly spots: readonly Spot[] } {
  const lines: string[] = [];
  const spots: Spot[] = [];
  let at = 0;
  for (const part of parts) {
    const some = isPlace(part) ? linesOf(part, firstChoice(part) ?? "mine") : part;
    const length = some.reduce((sum, line) => sum + line.length + 1, 0);
    if (isPlace(part)) spots.push({ place: part, from: at, to: at + length, choice: firstChoice(part) });
    lines.push(...some);
    at += length;
  }
  // Behind a place at the very end is an empty line that is not saved.
  return { doc: Text.of(needsEnd(parts) ? [...lines, ""] : lines), spots };
}

export function needsEnd(parts: readonly Part[]): boolean {
  const last = parts.at(-1);
  return last !== undefined && !isPlace(last) && last.length === 0;
}

const decide = StateEffect.define<{ readonly index: number; readonly choice: Choice }>();
const putBack = StateEffect.define<readonly Spot[]>();

const spotsField = StateField.define<readonly Spot[]>({
  create: () => [],
  update: (spots, transaction) => after(spots, transaction),
});

function after(spots: readonly Spot[], { changes, docChanged, effects }: Transaction): readonly Spot[] {
  for (const effect of effects) if (effect.is(putBack)) return effect.value;
  const decided = effects.find((effect) => effect.is(decide))?.value;
  if (!docChanged && decided === undefined) return spots;
  return spots.map((spot, index) => {
    const from = changes.mapPos(spot.from, -1);
    if (index === decided?.index) {
      const length = linesOf(spot.place, decided.choice).reduce((sum, line) => sum + line.length + 1, 0);
      return { ...spot, from, to: from + length, choice: decided.choice };
    }
    const to = Math.max(from, changes.mapPos(spot.to, -1));
    const isEdited = spot.to > spot.from && changes.touchesRange(spot.from, spot.to - 1) !== false;
    return { ...spot, from, to, choice: isEdited ? "edited" : spot.choice };
  });
}

/** A decision is taken back with its text. */
const undoing = invertedEffects.of(({ effects, startState }) =>
  effects.some((effect) => effect.is(decide) || effect.is(putBack)) ? [putBack.of(startState.field(spotsField))] : [],
);

function choose(view: EditorView, index: number, choice: Choice): void {
  const spot = view.state.field(spotsField)[index];
  if (spot === undefined) return;
  const lines = linesOf(spot.place, choice);
  const insert = lines.length === 0 ? Text.empty : Text.of([...lines, ""]);
  view.dispatch({ changes: { from: spot.from, to: spot.to, insert }, effects: decide.of({ index, choice }) });
}

const MARKED_CHARS = 20_000;
const SHOWN_LINES = 100;

/** Ranges of the second text that the first has not. */
function changedIn(text: string, other: string): readonly { readonly from: number; readonly to: number }[] {
  if (text === "" || text.length + other.length > MARKED_CHARS) return [];
  return presentableDiff(text, other).map(({ fromB, toB }) => ({ from: fromB, to: toB }));
}

/** The head above a place: who changed it, the choice, and the versions that are not in the text. */
class Head extends WidgetType {
  constructor(
    readonly spot: Spot,
    readonly index: number,
    readonly count: number,
    readonly text: string,
  ) {
    super();
  }

  override eq({ spot, count, text }: Head): boolean {
    return (
      spot.place === this.spot.place && spot.choice === this.spot.choice && count === this.count && text === this.text
    );
  }

  override toDOM(view: EditorView): HTMLElement {
    const { place, choice } = this.spot;
    const box = element("div", `place-head ${choice === undefined ? "open" : ""}`);
    const row = element("div", "row");
    row.append(
      element("strong", "", texts.placeOf(this.index + 1, this.count)),
      element("span", choice === undefined ? "tag danger" : "hint", texts.changedBy[place.by] ?? ""),
    );
    const choices = element("div", "segments");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", texts.placeOf(this.index + 1, this.count));
    for (const one of ["mine", "theirs", "both"] as const) {
      const button = element("button", "quiet", texts.choices[one] ?? one) as HTMLButtonElement;
      button.type = "button";
      button.setAttribute("aria-pressed", String(choice === one));
      button.addEventListener("click", () => {
        choose(view, this.index, one);
        focusPlace(view, this.index, one);
      });
      choices.append(button);
    }
    row.append(choices);
    box.append(row, ...(["mine", "theirs", "before"] as const).flatMap((version) => this.#other(version)));
    return box;
  }

  /** A version that the text does not hold, with what differs marked. */
  #other(version: Version): HTMLElement[] {
    const lines = this.spot.place[version];
    const isIn = version === this.spot.choice || (this.spot.choice === "both" && version !== "before");
    const whole = lines.map((line) => `${line}\n`).join("");
    // The side that changed nothing equals the version before, so that is not shown again.
    const isTold = version === "before" && (lines.length === 0 || this.spot.place.by !== "both");
    if (isIn || isTold || whole === this.text) return [];
    const box = element("div", `place-other ${version}`);
    box.append(element("span", "tag", texts.choices[version] ?? ""));
    if (lines.length === 0) {
      box.append(element("span", "hint", texts.linesGone));
      return [box];
    }
    const shown = lines
      .slice(0, SHOWN_LINES)
      .map((line) => `${line}\n`)
      .join("");
    const pre = element("pre", "");
    let at = 0;
    for (const { from, to } of changedIn(this.text, shown)) {
      pre.append(plainLines(shown.slice(at, from)), element("mark", "", plainLines(shown.slice(from, to))));
      at = to;
    }
    pre.append(plainLines(shown.slice(at)));
    if (lines.length > SHOWN_LINES) pre.append(texts.moreLines(lines.length - SHOWN_LINES));
    box.append(pre);
    return [box];
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** Makes hidden characters visible, since the user decides by this text. */
const plainLines = (text: string): string => text.split("\n").map(plain).join("\n");

function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  if (className !== "") made.className = className;
  made.textContent = text;
  return made;
}

function decorate(state: EditorState): DecorationSet {
  const spots = state.field(spotsField);
  const found = spots.flatMap((spot, index) => {
    const { place, from, to, choice } = spot;
    const text = state.doc.sliceString(from, to);
    const head = Decoration.widget({ widget: new Head(spot, index, spots.length, text), side: -1, block: true });
    const other = choice === "theirs" || choice === "both" ? place.before : place.theirs;
    const against = place.by === "both" ? other : place.before;
    const marks = changedIn(against.map((line) => `${line}\n`).join(""), text).flatMap((range) =>
      range.to > range.from ? [Decoration.mark({ class: "place-mark" }).range(from + range.from, from + range.to)] : [],
    );
    const lines: ReturnType<Decoration["range"]>[] = [];
    for (let at = from; at < to; at = state.doc.lineAt(at).to + 1)
      lines.push(Decoration.line({ class: `place-line ${choice ?? "open"}` }).range(at));
    return [head.range(from), ...lines, ...marks];
  });
  return Decoration.set(found, true);
}

const decorations = StateField.define<DecorationSet>({
  create: decorate,
  update: (shown, transaction) => {
    const isSame = transaction.state.field(spotsField) === transaction.startState.field(spotsField);
    return isSame ? shown : decorate(transaction.state);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** @param spots of {@link startOf} @param onUndecided told the number of places without a decision */
export const mergePlaces = (spots: readonly Spot[], onUndecided: (many: number) => void): Extension => [
  spotsField.init(() => spots),
  decorations,
  undoing,
  EditorView.lineWrapping,
  EditorView.updateListener.of(({ state, startState }) => {
    if (state.field(spotsField) !== startState.field(spotsField)) onUndecided(undecidedIn(state));
  }),
];

/** Places without a decision. */
export const undecidedIn = (state: EditorState): number =>
  state.field(spotsField).filter(({ choice }) => choice === undefined).length;
export const placesIn = (state: EditorState): number => state.field(spotsField).length;

/** Goes to the next place, or to the one before; behind the last comes the first. @param isOpen only places without a decision */
export function goToPlace(view: EditorView, forward: boolean, isOpen = false): void {
  const spots = view.state.field(spotsField);
  const { head } = view.state.selection.main;
  const all = spots.map((spot, index) => ({ ...spot, index })).filter(({ choice }) => !isOpen || choice === undefined);
  const next = forward ? all.find(({ from }) => from > head) : all.findLast(({ from }) => from < head);
  const found = next ?? (forward ? all[0] : all.at(-1));
  if (found === undefined) return;
  const scroll = EditorView.scrollIntoView(found.from, { y: "center" });
  view.dispatch({ selection: { anchor: found.from }, effects: scroll });
  focusPlace(view, found.index, found.choice === "edited" ? undefined : found.choice);
}

/** The buttons of a place have the focus once they are drawn. */
function focusPlace(view: EditorView, index: number, choice: Choice | undefined): void {
  requestAnimationFrame(() => {
    const label = texts.placeOf(index + 1, placesIn(view.state));
    const group = [...view.dom.querySelectorAll(".place-head [role=group]")].find(
      (one) => one.getAttribute("aria-label") === label,
    );
    const buttons = [...(group?.querySelectorAll("button") ?? [])];
    (buttons.find((button) => button.textContent === texts.choices[choice ?? "mine"]) ?? buttons[0])?.focus();
  });
}
