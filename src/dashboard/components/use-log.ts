import { useEffect, useRef, useState } from 'react';
import type { LiveSettings, LiveState } from '../../sdk/index.ts';
import { boundedLines, type LogEntry, type LogLine } from '../lib/log-lines.ts';

export interface LogSource {
  /** Opens it. `timestamps`: with the time of each line, where that is known. */
  readonly open: (
    settings: LiveSettings & {
      readonly signal: AbortSignal;
      readonly timestamps: boolean;
    },
  ) => AsyncIterable<LogEntry>;
  /** What was printed before: nothing follows. */
  readonly isKept: boolean;
  /** Its lines can be had with their times. */
  readonly isTimed: boolean;
}

/** So many at once are put to the others without waiting: in a tab that nobody sees, a timer may come once a minute. */
const MANY = 1000;
/** Lines are drawn a few times a second, so that a chatty workload does not freeze the page. */
const FLUSH_MS = 100;

export interface ReadLog {
  readonly lines: readonly LogLine[];
  /** That came since it was paused. */
  readonly waiting: number;
  readonly state: LiveState | 'ended';
  readonly error: unknown;
}

/** Another source is another log, and is read from its beginning; so is one with times. While it is paused, lines are kept but not shown. */
export function useLog(
  { open }: LogSource,
  {
    timestamps,
    isPaused,
    reading,
  }: {
    readonly timestamps: boolean;
    readonly isPaused: boolean;
    /** Another number: read it again. */
    readonly reading: number;
  },
): ReadLog {
  const [read, setRead] = useState<Pick<ReadLog, 'lines' | 'waiting'>>({ lines: [], waiting: 0 });
  const [state, setState] = useState<ReadLog['state']>('connecting');
  const [error, setError] = useState<unknown>();
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let gathered: readonly LogLine[] = [];
    let fresh: LogLine[] = [];
    let [key, drawn] = [0, 0];
    setRead({ lines: [], waiting: 0 });
    setError(undefined);
    setState('connecting');
    const gather = () => {
      if (fresh.length === 0) return;
      gathered = boundedLines(gathered, fresh);
      fresh = [];
    };
    const draw = () => {
      gather();
      if (key === drawn) return;
      if (paused.current) {
        setRead((before) => (before.waiting === key - drawn ? before : { ...before, waiting: key - drawn }));
        return;
      }
      drawn = key;
      setRead({ lines: gathered, waiting: 0 });
    };
    const timer = setInterval(draw, FLUSH_MS);
    const readAll = async () => {
      // What was printed already would come again: one that breaks off is not taken up.
      const settings = { signal, resume: false, onState: setState, timestamps };
      for await (const entry of open(settings)) {
        key += 1;
        fresh.push({ key, ...entry });
        if (fresh.length === MANY) gather();
      }
    };
    void readAll()
      .catch((problem: unknown) => signal.aborted || setError(problem))
      .then(() => signal.aborted || setState('ended'));
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [open, timestamps, reading]);
  return { ...read, state, error };
}
