import { type RefCallback, useCallback, useRef, useState } from 'react';

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

/** Which rows of equal height are in view, of a list that has become shorter the last ones. Pure, so that it can be tried without a browser. */
export function rowWindow(
  scrolled: number,
  height: number,
  rowHeight: number,
  count: number,
  overscan = OVERSCAN,
): RowWindow {
  const top = Math.max(0, Math.min(scrolled, count * rowHeight - height));
  const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + overscan);
  return { first, last, above: first * rowHeight, below: Math.max(0, count - last) * rowHeight };
}

/**
 * Which place of the table draws each record: those that stay in view keep theirs, the others take over the places of those that left. Pure, so
 * that it can be tried without a browser.
 */
export function placesOf(
  before: ReadonlyMap<string, number>,
  inView: readonly string[],
): ReadonlyMap<string, number> {
  const wanted = new Set(inView);
  const taken = new Set([...before].filter(([key]) => wanted.has(key)).map(([, place]) => place));
  let next = 0;
  const free = (): number => {
    while (taken.has(next)) next += 1;
    next += 1;
    return next - 1;
  };
  return new Map(inView.map((key) => [key, before.get(key) ?? free()]));
}

/** The places of the records that are drawn, as they were assigned while the list went by. */
export function usePlaces(inView: readonly string[]): ReadonlyMap<string, number> {
  const places = useRef<ReadonlyMap<string, number>>(new Map());
  places.current = placesOf(places.current, inView);
  return places.current;
}

/** So many rows more than the height has room for are left as they are: drawing again costs more. */
const SPARE_ROWS = 8;

/** The rows to draw in a scrolled element, which may leave the page and come back as another: a list of thousands costs what is seen of it. */
export function useRowWindow(
  rowHeight: number,
  count: number,
): { readonly scroller: RefCallback<HTMLElement>; readonly inView: RowWindow } {
  // At first what the browser's window can show, and nothing beyond it until that is on the screen.
  const [view, setView] = useState(() => ({
    scrolled: 0,
    height: window.innerHeight + rowHeight,
    overscan: 0,
  }));
  const scroller = useCallback(
    (element: HTMLElement) => {
      let settling: ReturnType<typeof setTimeout> | undefined;
      const settled = () => setView((before) => ({ ...before, overscan: OVERSCAN }));
      const read = () =>
        setView((before) => {
          // Rows are drawn in steps, so most scrolling draws nothing new.
          const scrolled = Math.floor(element.scrollTop / (rowHeight * 4)) * rowHeight * 4;
          const height = element.clientHeight + rowHeight * 4;
          const spare = before.height - height;
          if (before.scrolled === scrolled && spare >= 0 && spare < rowHeight * SPARE_ROWS) return before;
          // Nothing of the last frame is left: only what is seen is drawn until it rests.
          const isJump = Math.abs(scrolled - before.scrolled) >= height;
          if (!isJump) return { scrolled, height, overscan: before.overscan };
          clearTimeout(settling);
          settling = setTimeout(settled, SETTLED_MS);
          return { scrolled, height, overscan: 0 };
        });
      settling = setTimeout(settled, SETTLED_MS);
      element.addEventListener('scroll', read, { passive: true });
      // It is called at first, too, when the layout is known: asking for the height before would make the browser do it twice.
      const resized = new ResizeObserver(read);
      resized.observe(element);
      return () => {
        element.removeEventListener('scroll', read);
        resized.disconnect();
        clearTimeout(settling);
        // The next one begins at its top.
        setView((before) => (before.scrolled === 0 ? before : { ...before, scrolled: 0 }));
      };
    },
    [rowHeight],
  );
  return { scroller, inView: rowWindow(view.scrolled, view.height, rowHeight, count, view.overscan) };
}
