// Modal dialogs: focus stays inside, Escape closes, and focus returns to where it was.

import { signal } from "@preact/signals";
import { X } from "lucide";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { texts } from "../texts.js";
import { Icon } from "./icon.js";

interface OpenDialog {
  readonly id: number;
  readonly render: () => JSX.Element;
}

const open = signal<readonly OpenDialog[]>([]);
let nextId = 0;

/** Shows a dialog until it calls `close`. @returns what it closed with; `undefined` when it was dismissed */
export function showDialog<T>(make: (close: (result?: T) => void) => JSX.Element): Promise<T | undefined> {
  return new Promise((resolve) => {
    nextId += 1;
    const id = nextId;
    const close = (result?: T) => {
      open.value = open.value.filter((one) => one.id !== id);
      resolve(result);
    };
    open.value = [...open.value, { id, render: () => make(close) }];
  });
}

export function Dialogs(): JSX.Element {
  return (
    <>
      {open.value.map(({ id, render: Content }) => (
        <Content key={id} />
      ))}
    </>
  );
}

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly footer?: ComponentChildren;
  readonly wide?: boolean;
  readonly onSubmit?: () => void;
}

export function Dialog({ title, children, onClose, footer, wide = false, onSubmit }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    return () => {
      // While it is open, nothing behind it takes the focus.
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={element}
      class={wide ? "dialog wide" : "dialog"}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <form onSubmit={submit}>
        <header>
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="quiet square" aria-label={texts.close} onClick={onClose}>
            <Icon of={X} />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {footer === undefined ? null : <footer>{footer}</footer>}
      </form>
    </dialog>
  );
}
