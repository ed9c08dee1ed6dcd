// Asks what to do when a name is taken: replace, keep both or skip, and whether for all that follow.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { read } from "../../api/call.js";
import { texts } from "../../texts.js";
import { Dialog, showDialog } from "../../ui/dialog.js";
import { joinPath } from "../../ui/format.js";

export type ClashAnswer = "replace" | "keep both" | "skip";

/** Asks at each clash of one action, until an answer holds for all. */
export class ClashAsker {
  readonly #isMany: boolean;
  #forAll: ClashAnswer | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(isMany: boolean) {
    this.#isMany = isMany;
  }

  /** One question at a time. */
  ask(name: string): Promise<ClashAnswer> {
    const answer = this.#last.then(() => this.#forAll ?? this.#show(name));
    this.#last = answer;
    return answer;
  }

  async #show(name: string): Promise<ClashAnswer> {
    const result = await showDialog<{ answer: ClashAnswer; isForAll: boolean }>((close) => (
      <ClashDialog name={name} isMany={this.#isMany} close={close} />
    ));
    if (result?.isForAll === true) this.#forAll = result.answer;
    return result?.answer ?? "skip";
  }
}

interface ClashProps {
  readonly name: string;
  readonly isMany: boolean;
  readonly close: (result?: { answer: ClashAnswer; isForAll: boolean }) => void;
}

function ClashDialog({ name, isMany, close }: ClashProps): JSX.Element {
  const [isForAll, setForAll] = useState(false);
  const button = (answer: ClashAnswer, label: string, kind = "") => (
    <button
      type="button"
      class={kind}
      data-autofocus={answer === "skip" ? true : undefined}
      onClick={() => close({ answer, isForAll })}
    >
      {label}
    </button>
  );
  return (
    <Dialog
      title={texts.clash(name)}
      onClose={() => close()}
      footer={
        <>
          {button("skip", texts.skipOne)}
          {button("keep both", texts.keepBoth)}
          {button("replace", texts.replace, "danger")}
        </>
      }
    >
      <p>{texts.clashLead}</p>
      {isMany ? (
        <label class="check">
          <input type="checkbox" checked={isForAll} onChange={(event) => setForAll(event.currentTarget.checked)} />
          {texts.forAll}
        </label>
      ) : null}
    </Dialog>
  );
}

const MAX_TRIES = 1000;

/** `a (2).txt`, the first that is free. */
export async function freeName(
  { root, path }: { readonly root: string; readonly path: string },
  name: string,
): Promise<string> {
  const dot = name.lastIndexOf(".") > 0 ? name.lastIndexOf(".") : name.length;
  for (let number = 2; number < MAX_TRIES; number += 1) {
    const candidate = `${name.slice(0, dot)} (${number})${name.slice(dot)}`;
    const { exists } = await read("file:stat", { root, path: joinPath(path, candidate) });
    if (!exists) return candidate;
  }
  return `${name.slice(0, dot)} (${Date.now()})${name.slice(dot)}`;
}
