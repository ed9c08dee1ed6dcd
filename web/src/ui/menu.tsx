// Menu buttons, in the ARIA pattern: arrows move, Escape closes, focus returns.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { focusByTyping } from "./focus-by-typing.js";
import { Icon } from "./icon.js";
import { TypeAhead } from "./type-ahead.js";

export interface MenuItem {
  readonly label: string;
  readonly icon?: unknown;
  readonly keys?: string;
  readonly isDanger?: boolean;
  readonly run: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly children: ComponentChildren;
  readonly buttonClass?: string;
}

export function Menu({ label, items, children, buttonClass = "quiet" }: MenuProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const close = (focusButton: boolean) => {
    setOpen(false);
    if (focusButton) box.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: Event) => {
      if (event.target instanceof Node && box.current?.contains(event.target) !== true) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [isOpen]);
  return (
    <div class="menu" ref={box}>
      <button
        type="button"
        class={buttonClass}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen ? <MenuItems label={label} items={items} close={close} /> : null}
    </div>
  );
}

interface ItemsProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly close: (focusButton: boolean) => void;
}

/** The open list of a menu. */
export function MenuItems({ label, items, close }: ItemsProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const typing = useRef(new TypeAhead());
  useEffect(() => list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close(event.key === "Escape");
    if (to !== undefined) all[to % all.length]?.focus();
    // A space presses the button.
    const isTyped = event.key !== " " && focusByTyping(typing.current, event, all);
    if (to !== undefined || isTyped || event.key === "Escape") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu-list" role="menu" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {items.map(({ label: text, icon, keys, isDanger, run }) => (
        <button
          key={text}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={isDanger === true ? "danger" : ""}
          onClick={() => {
            close(true);
            run();
          }}
        >
          {icon === undefined ? null : <Icon of={icon} />}
          <span>{text}</span>
          {keys === undefined ? null : <kbd>{keys}</kbd>}
        </button>
      ))}
    </div>
  );
}
