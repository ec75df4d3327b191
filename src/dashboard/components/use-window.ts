import { type RefObject, useEffect, useState } from 'react';

export interface RowWindow {
  readonly first: number;
  readonly last: number;
  readonly above: number;
  readonly below: number;
}

const OVERSCAN = 8;

/** Which rows of equal height are in view. Pure, so that it can be tried without a browser. */
export function rowWindow(scrolled: number, height: number, rowHeight: number, count: number): RowWindow {
  const first = Math.max(0, Math.floor(scrolled / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + OVERSCAN);
  return { first, last, above: first * rowHeight, below: Math.max(0, count - last) * rowHeight };
}

/** The rows to draw in a scrolled element: a list of thousands costs what is seen of it. */
export function useRowWindow(
  scroller: RefObject<HTMLElement | null>,
  rowHeight: number,
  count: number,
): RowWindow {
  const [view, setView] = useState({ scrolled: 0, height: 900 });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const read = () =>
      setView((before) => {
        // Rows are drawn in steps, so most scrolling draws nothing new.
        const scrolled = Math.floor(element.scrollTop / (rowHeight * 4)) * rowHeight * 4;
        const height = element.clientHeight + rowHeight * 4;
        return before.scrolled === scrolled && before.height === height ? before : { scrolled, height };
      });
    read();
    element.addEventListener('scroll', read, { passive: true });
    const resized = new ResizeObserver(read);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      resized.disconnect();
    };
  }, [scroller, rowHeight]);
  return rowWindow(view.scrolled, view.height, rowHeight, count);
}
