import { type RefObject, useEffect, useState } from 'react';

export interface RowWindow {
  readonly first: number;
  readonly last: number;
  readonly above: number;
  readonly below: number;
}

/** Rows beyond the view, so that a little scrolling finds them drawn. */
const OVERSCAN = 8;
/** After a jump: long enough for whoever drags the bar, short enough for whoever pressed a key. */
const SETTLED_MS = 100;

/** Which rows of equal height are in view. Pure, so that it can be tried without a browser. */
export function rowWindow(
  scrolled: number,
  height: number,
  rowHeight: number,
  count: number,
  overscan = OVERSCAN,
): RowWindow {
  const first = Math.max(0, Math.floor(scrolled / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((scrolled + height) / rowHeight) + overscan);
  return { first, last, above: first * rowHeight, below: Math.max(0, count - last) * rowHeight };
}

/** The rows to draw in a scrolled element: a list of thousands costs what is seen of it. */
export function useRowWindow(
  scroller: RefObject<HTMLElement | null>,
  rowHeight: number,
  count: number,
): RowWindow {
  const [view, setView] = useState({ scrolled: 0, height: 900, overscan: OVERSCAN });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    let settling: ReturnType<typeof setTimeout> | undefined;
    const settled = () => setView((before) => ({ ...before, overscan: OVERSCAN }));
    const read = () =>
      setView((before) => {
        // Rows are drawn in steps, so most scrolling draws nothing new.
        const scrolled = Math.floor(element.scrollTop / (rowHeight * 4)) * rowHeight * 4;
        const height = element.clientHeight + rowHeight * 4;
        if (before.scrolled === scrolled && before.height === height) return before;
        // Nothing of the last frame is left: only what is seen is drawn until it rests.
        const isJump = Math.abs(scrolled - before.scrolled) >= height;
        if (!isJump) return { scrolled, height, overscan: before.overscan };
        clearTimeout(settling);
        settling = setTimeout(settled, SETTLED_MS);
        return { scrolled, height, overscan: 0 };
      });
    read();
    element.addEventListener('scroll', read, { passive: true });
    const resized = new ResizeObserver(read);
    resized.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      resized.disconnect();
      clearTimeout(settling);
    };
  }, [scroller, rowHeight]);
  return rowWindow(view.scrolled, view.height, rowHeight, count, view.overscan);
}
