import { textAt } from '../lib/draft.ts';
import { parsedRecord } from '../../core/model/values.ts';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { type Frame, type LiveSettings, type LiveState, rejectionOf } from '../../sdk/index.ts';
import { printable } from '../lib/printable.ts';
import { Button } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { SearchBox } from './search-box.tsx';

interface LogLine {
  readonly key: number;
  readonly instance: string;
  readonly channel: 'stdout' | 'stderr' | 'problem';
  readonly text: string;
}

/** Older lines go: a browser is no archive. */
const MAX_LINES = 3000;
const FLUSH_MS = 100;

export type Follow = (settings: LiveSettings & { readonly signal: AbortSignal }) => AsyncIterable<Frame>;

/** Lines as they are printed, gathered a few times a second so that a chatty workload does not freeze the page. */
function useLogLines(follow: Follow, isFollowing: boolean) {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [state, setState] = useState<LiveState | 'ended'>('connecting');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!isFollowing) return undefined;
    const controller = new AbortController();
    let gathered: LogLine[] = [];
    let key = 0;
    setLines([]);
    setError(undefined);
    const timer = setInterval(() => {
      if (gathered.length === 0) return;
      const fresh = gathered;
      gathered = [];
      setLines((before) => [...before, ...fresh].slice(-MAX_LINES));
    }, FLUSH_MS);
    const { signal } = controller;
    const read = async () => {
      // What was printed already would come again: one that breaks off is not taken up.
      for await (const { event, data } of follow({ signal, resume: false, onState: setState })) {
        if (event === 'end') continue;
        const entry = parsedRecord(data);
        key += 1;
        gathered.push({
          key,
          instance: textAt(entry, 'instance'),
          channel: event === 'problem' ? 'problem' : entry['channel'] === 'stderr' ? 'stderr' : 'stdout',
          text: printable(textAt(entry, 'line') || textAt(entry, 'message')),
        });
      }
    };
    void read()
      .catch((problem: unknown) => {
        if (rejectionOf(problem) !== undefined) setError(problem);
      })
      .then(() => signal.aborted || setState('ended'));
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [follow, isFollowing]);
  return { lines, state, error };
}

const TONES = { stdout: '', stderr: 'text-warn', problem: 'text-bad' } as const;
const STATES = {
  live: 'Following',
  ended: 'The log has ended',
  connecting: 'Connecting',
  reconnecting: 'Connecting',
} as const;
/** This close to the end counts as being there. */
const AT_END_PX = 40;

/** A log that is followed: found in, held and read as text. */
export function LogView({
  label,
  follow,
  several = false,
  choices,
}: {
  readonly label: string;
  /** Opens the stream; another function is another log. */
  readonly follow: Follow;
  /** Lines of more than one instance: each says whose it is. */
  readonly several?: boolean;
  /** Before the search: what the log is of. */
  readonly choices?: ReactNode;
}) {
  const [isFollowing, setFollowing] = useState(true);
  const [wanted, setWanted] = useState('');
  const { lines, state, error } = useLogLines(follow, isFollowing);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const shown = useMemo(
    () =>
      wanted === '' ? lines : lines.filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase())),
    [lines, wanted],
  );
  useEffect(() => {
    const element = scroller.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [shown]);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        {choices}
        <SearchBox label="Show lines that contain" value={wanted} onChange={setWanted} />
        <Button icon={isFollowing ? 'pause' : 'play'} onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? 'Pause' : 'Follow'}
        </Button>
        <span className="text-xs text-muted" role="status">
          {isFollowing ? STATES[state] : 'Paused'}
        </span>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
      <div
        ref={scroller}
        role="log"
        aria-label={label}
        aria-live="off"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          const left = currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight;
          isAtEnd.current = left < AT_END_PX;
        }}
        className="h-[min(60dvh,40rem)] overflow-auto rounded-lg border bg-surface p-3 font-mono text-xs leading-5"
      >
        {shown.length === 0 ? (
          <p className="text-muted">{lines.length === 0 ? 'No lines yet.' : 'No line contains this.'}</p>
        ) : null}
        {shown.map((line) => (
          <div key={line.key} className={`flex gap-3 whitespace-pre-wrap ${TONES[line.channel]}`}>
            {several ? <span className="shrink-0 text-faint">{line.instance.slice(-8)}</span> : null}
            <span className="min-w-0">{line.text}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
