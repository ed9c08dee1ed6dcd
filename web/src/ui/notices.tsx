// Short notices at the edge of the page, and what was done, with a way back. Read out politely; failures at once.

import { signal } from "@preact/signals";
import { X } from "lucide";
import type { JSX } from "preact";
import { asApiError, inWords } from "../api/errors.js";
import { texts } from "../texts.js";
import { inSentences, plain } from "./format.js";
import { Icon } from "./icon.js";

interface Action {
  readonly label: string;
  readonly run: () => void;
}

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isFailure: boolean;
  readonly requestId: string;
  readonly action?: Action | undefined;
}

const notices = signal<readonly Notice[]>([]);
let nextId = 0;
const MOST = 4;
/** Notices without an action go by themselves; WCAG 2.2.1: those with one stay. */
const SHOWN_MS = 6000;

function add(notice: Omit<Notice, "id">): void {
  nextId += 1;
  const id = nextId;
  notices.value = [...notices.value, { ...notice, id }].slice(-MOST);
  if (!notice.isFailure && notice.action === undefined) setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((one) => one.id !== id);
}

/** Reports a change, with a way to take it back. */
export const notify = (text: string, action?: Action): void => add({ text, isFailure: false, requestId: "", action });

/** Reports a failure, and what to do next. */
export function notifyFailure(error: unknown, action?: Action): void {
  const { title, next } = inWords(error);
  add({ text: inSentences(title, next), isFailure: true, requestId: asApiError(error).requestId, action });
}

export function Notices(): JSX.Element {
  const shown = notices.value;
  const of = (isFailure: boolean) =>
    shown.filter((one) => one.isFailure === isFailure).map((one) => <Shown key={one.id} notice={one} />);
  return (
    <div class="notices">
      <div role="status">{of(false)}</div>
      <div role="alert">{of(true)}</div>
    </div>
  );
}

function Shown({ notice }: { readonly notice: Notice }): JSX.Element {
  const { id, text, isFailure, requestId, action } = notice;
  return (
    <div class={isFailure ? "notice failure" : "notice"}>
      <p>
        {plain(text)}
        {isFailure && requestId !== "" ? <span class="request-id">{texts.requestId(requestId)}</span> : null}
      </p>
      {action === undefined ? null : (
        <button
          type="button"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <button type="button" class="quiet square" aria-label={texts.dismiss} onClick={() => dismiss(id)}>
        <Icon of={X} />
      </button>
    </div>
  );
}
