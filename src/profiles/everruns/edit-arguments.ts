// Validates the arguments of `edit_file`.

import { invalidParameter, missingParameter, toolFault } from "./tool-fault.js";

/** One requested replacement. */
export interface RequestedEdit {
  readonly oldText: string;
  readonly newText: string;
}

/** A pair as given; types are checked by the tool's schema. */
interface GivenEdit {
  readonly old_text?: string | undefined;
  readonly new_text?: string | undefined;
}

export interface EditArguments extends GivenEdit {
  readonly edits?: readonly GivenEdit[];
}

const MAX_EDITS = 100;

/** @throws INVALID_INPUT for the first fault, in the order of the tool's description */
export function parseEdits({ old_text: oldText, new_text: newText, edits }: EditArguments): readonly RequestedEdit[] {
  const hasPair = oldText !== undefined || newText !== undefined;
  if (edits !== undefined && hasPair) throw invalidEdits("Provide either old_text/new_text or edits, not both");
  if (edits === undefined && !hasPair) throw invalidEdits("Provide old_text/new_text or a non-empty edits array");
  if (edits?.length === 0) throw invalidEdits("edits must contain at least one replacement");
  if (edits !== undefined) return parseBatch(edits);
  if (oldText === undefined) throw missingParameter("old_text");
  if (newText === undefined) throw missingParameter("new_text");
  if (oldText === "") throw invalidEdits("old_text cannot be empty");
  return [requireWellFormed({ oldText, newText }, "")];
}

/**
 * The edits of a 0.50 call: a single pair first, exact duplicates and empty pairs dropped.
 * @throws INVALID_INPUT
 */
export function gatherEdits({
  old_text: oldText,
  new_text: newText,
  edits = [],
}: EditArguments): readonly RequestedEdit[] {
  const isEmpty = ({ old_text: old, new_text: replacement }: GivenEdit) => old === "" && replacement === "";
  const hasPair = (oldText ?? "") !== "" || (newText ?? "") !== "";
  const pair = hasPair ? parseEdits({ old_text: oldText, new_text: newText }) : [];
  const all = [...pair, ...parseBatch(edits, isEmpty)];
  const once = new Map(all.map((edit) => [JSON.stringify([edit.oldText, edit.newText]), edit]));
  if (once.size > 0) return [...once.values()];
  throw invalidEdits("edit_file requires a non-empty edits[] array; each entry needs old_text and new_text");
}

function parseBatch(
  edits: readonly GivenEdit[],
  isLeftOut: (edit: GivenEdit) => boolean = () => false,
): readonly RequestedEdit[] {
  if (edits.length > MAX_EDITS) throw invalidParameter("edits", `at most ${MAX_EDITS} replacements`);
  return edits.flatMap((edit, index) => {
    const { old_text: oldText, new_text: newText } = edit;
    const which = `Edit ${index + 1}`;
    if (isLeftOut(edit)) return [];
    if (oldText === undefined) throw invalidEdits(`${which} is missing old_text`);
    if (newText === undefined) throw invalidEdits(`${which} is missing new_text`);
    if (oldText === "") throw invalidEdits(`${which} has an empty old_text`);
    return [requireWellFormed({ oldText, newText }, `edits.${index}.`)];
  });
}

/** A lone surrogate could match half of a character, and cannot be encoded as UTF-8. */
function requireWellFormed(edit: RequestedEdit, place: string): RequestedEdit {
  if (!edit.oldText.isWellFormed()) throw invalidParameter(`${place}old_text`, "not well-formed Unicode");
  if (!edit.newText.isWellFormed()) throw invalidParameter(`${place}new_text`, "not well-formed Unicode");
  return edit;
}

const invalidEdits = (text: string) => toolFault("INVALID_INPUT", text);
