// A list of rows of one height, of which only those in view exist: 100,000 cost as much as a screenful.

import type { ComponentChildren, HTMLAttributes, JSX, Ref } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows made beyond each end of the view, so that scrolling shows none that is blank. */
const OVERSCAN = 12;
const MAX_ROWS = 96;

interface VirtualProps {
  readonly count: number;
  /** Pixels. */
  readonly rowHeight: number;
  /** The row that has the focus of the list; it is kept in view. */
  readonly active: number;
  /** The row of an index, without a key. */
  readonly render: (index: number) => ComponentChildren;
  readonly attributes: HTMLAttributes<HTMLDivElement>;
  readonly elementRef?: Ref<HTMLDivElement>;
  /** Stays above the rows. */
  readonly header?: { readonly content: ComponentChildren; readonly height: number };
}

interface Span {
  readonly top: number;
  readonly height: number;
}

/**
 * Each row lies at its own place in a spacer as high as all of them. A row that leaves the view at one end lends its nodes
 * to the one that enters at the other: scrolling changes texts and makes no nodes.
 */
export function VirtualRows({
  count,
  rowHeight,
  active,
  render,
  attributes,
  elementRef,
  header,
}: VirtualProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<Span>({ top: 0, height: 800 });
  const look = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    // Quantised, so that a scroll by some pixels within the overscan makes no rows anew.
    const top = Math.floor(element.scrollTop / rowHeight / 4) * 4 * rowHeight;
    setView((before) =>
      before.top === top && before.height === element.clientHeight ? before : { top, height: element.clientHeight },
    );
  }, [rowHeight]);
  useLayoutEffect(() => {
    if (typeof elementRef === "object" && elementRef !== null) elementRef.current = box.current;
    look();
    const observer = new ResizeObserver(look);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (box.current !== null && active >= 0) keepInView(box.current, active, rowHeight, header?.height ?? 0);
  }, [active, rowHeight]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const seen = Math.ceil(view.height / rowHeight) + 2 * OVERSCAN + 4;
  const last = Math.max(first, Math.min(count, first + Math.min(seen, MAX_ROWS)));
  const slots = Math.max(1, last - first);
  const rows = Array.from({ length: last - first }, (_, at) => {
    const index = first + at;
    return (
      <div
        key={index % slots}
        role="presentation"
        class="slot"
        style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
      >
        {render(index)}
      </div>
    );
  });
  return (
    <div {...attributes} ref={box} onScroll={look}>
      {header?.content}
      <div role="presentation" class="spacer" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}

function keepInView(element: HTMLElement, index: number, rowHeight: number, above: number): void {
  const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight];
  if (top < element.scrollTop) element.scrollTop = top;
  else if (bottom + above > element.scrollTop + element.clientHeight)
    element.scrollTop = bottom + above - element.clientHeight;
}
