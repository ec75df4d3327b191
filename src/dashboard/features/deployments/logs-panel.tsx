import { useEffect, useMemo, useRef, useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { type LiveState, readLive } from '../../lib/live-stream.ts';
import { printable } from '../../lib/printable.ts';
import type { Instance } from '../../lib/records.ts';
import { deploymentPath } from './deployment-queries.ts';

interface LogLine {
  readonly key: number;
  readonly instance: string;
  readonly channel: 'stdout' | 'stderr' | 'problem';
  readonly text: string;
}

/** Older lines go: a browser is no archive. */
const MAX_LINES = 3000;
const FLUSH_MS = 100;
const TAIL = 200;

/** Lines as they are printed, gathered a few times a second so that a chatty workload does not freeze the page. */
function useLogLines(name: string, instance: string, isFollowing: boolean) {
  const api = useApi();
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
    const query = new URLSearchParams({
      follow: 'true',
      tail: String(TAIL),
      ...(instance === '' ? {} : { instance }),
    });
    void readLive(
      api,
      {
        path: `${deploymentPath(name)}/logs?${query.toString()}`,
        // What was printed already would come again.
        reconnect: false,
        onState: setState,
        onRefused: setError,
        onFrame: ({ event, data }) => {
          if (event === 'end') return;
          const { instance: id, channel, line, message } = JSON.parse(data) as Record<string, string>;
          key += 1;
          gathered.push({
            key,
            instance: id ?? '',
            channel: event === 'problem' ? 'problem' : channel === 'stderr' ? 'stderr' : 'stdout',
            text: printable(line ?? message ?? ''),
          });
        },
      },
      controller.signal,
    ).then(() => controller.signal.aborted || setState('ended'));
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [api, name, instance, isFollowing]);
  return { lines, state, error };
}

const TONES = { stdout: '', stderr: 'text-warn', problem: 'text-bad' } as const;
/** This close to the end counts as being there. */
const AT_END_PX = 40;

export function LogsPanel({
  name,
  instances,
}: {
  readonly name: string;
  readonly instances: readonly Instance[];
}) {
  const [instance, setInstance] = useState('');
  const [isFollowing, setFollowing] = useState(true);
  const [wanted, setWanted] = useState('');
  const { lines, state, error } = useLogLines(name, instance, isFollowing);
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
  const several = instance === '' && instances.length > 1;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <label className="flex items-center gap-2">
          <span className="sr-only">Instance</span>
          <select
            value={instance}
            onChange={(event) => setInstance(event.target.value)}
            className="h-9 max-w-72 rounded-md border border-line-strong bg-surface px-2"
          >
            <option value="">All instances</option>
            {instances.map(({ id, nodeId }) => (
              <option key={id} value={id}>
                {id.slice(-8)} on {nodeId}
              </option>
            ))}
          </select>
        </label>
        <SearchBox label="Show lines that contain" value={wanted} onChange={setWanted} />
        <Button icon={isFollowing ? 'pause' : 'play'} onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? 'Pause' : 'Follow'}
        </Button>
        <span className="text-xs text-muted" role="status">
          {isFollowing
            ? state === 'live'
              ? 'Following'
              : state === 'ended'
                ? 'The log has ended'
                : 'Connecting'
            : 'Paused'}
        </span>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
      <div
        ref={scroller}
        role="log"
        aria-label={`Log of ${name}`}
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
