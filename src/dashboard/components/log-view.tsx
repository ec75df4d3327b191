import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { logTime } from '../lib/format.ts';
import {
  fileText,
  type Found,
  foundIn,
  lastMarked,
  type LogLine,
  lowered,
  MAX_FOUND,
  MAX_LINES,
} from '../lib/log-lines.ts';
import { saveFile } from '../lib/save-file.ts';
import { Button, EitherWord, IconButton } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { SearchBox } from './search-box.tsx';
import { type LogSource, type ReadLog, useLog } from './use-log.ts';

const TONES = { stdout: '', stderr: 'text-warn', problem: 'text-bad' } as const;

/** Marked where the wanted text is; `at` is the place of the one that is looked at. */
function marked(text: string, wanted: string, at: number | undefined): ReactNode {
  const places = foundIn([{ key: 0, instance: '', channel: 'stdout', text }], wanted);
  if (places.length === 0) return text;
  return (
    <>
      {places.map((place, index) => (
        <span key={place.at}>
          {text.slice(index === 0 ? 0 : (places[index - 1]?.at ?? 0) + wanted.length, place.at)}
          <mark
            data-here={place.at === at ? '' : undefined}
            className={place.at === at ? 'bg-accent text-on-accent' : 'bg-warn-soft text-warn'}
          >
            {text.slice(place.at, place.at + wanted.length)}
          </mark>
        </span>
      ))}
      {text.slice((places.at(-1)?.at ?? 0) + wanted.length)}
    </>
  );
}

const Line = memo(function Line({
  line,
  several,
  wrap,
  wanted,
  here,
}: {
  readonly line: LogLine;
  readonly several: boolean;
  readonly wrap: boolean;
  readonly wanted: string;
  /** Place in this line of the one that is looked at. */
  readonly here: number | undefined;
}) {
  return (
    <div
      className={`flex gap-x-3 ${wrap ? 'whitespace-pre-wrap max-sm:flex-wrap' : 'whitespace-pre'} ${TONES[line.channel]}`}
    >
      {line.at === undefined ? null : (
        <time dateTime={line.at} title={line.at} className="shrink-0 text-faint">
          {logTime(line.at)}
        </time>
      )}
      {several ? (
        <span className="shrink-0 text-faint" title={line.instance}>
          {line.instance.slice(-8)}
        </span>
      ) : null}
      <span className={wrap ? 'min-w-0' : ''}>{marked(line.text, wanted, here)}</span>
    </div>
  );
});

const STATES = {
  live: 'Following',
  ended: 'The log has ended',
  connecting: 'Connecting',
  reconnecting: 'Connecting',
} as const;

function stateText({ state, waiting, error }: ReadLog, isPaused: boolean, isKept: boolean): string {
  if (error !== undefined) return 'Broken off';
  if (isKept) return state === 'ended' ? 'All that was kept' : 'Reading';
  if (!isPaused) return STATES[state];
  return waiting === 0 ? 'Paused' : `Paused, ${waiting.toLocaleString('en')} new`;
}

function foundText(found: readonly Found[], here: number): string {
  if (found.length === 0) return 'none';
  return `${here + 1} of ${found.length === MAX_FOUND ? 'many' : found.length.toLocaleString('en')}`;
}

/** This close to the end counts as being there. */
const AT_END_PX = 40;

/** Which of the found places is looked at: the newest until one goes to another. */
function useFound(lines: readonly LogLine[]) {
  const [wanted, setWanted] = useState('');
  const [chosen, setChosen] = useState<Found>();
  const found = useMemo(() => foundIn(lines, wanted), [lines, wanted]);
  const known = found.findIndex(({ key, at }) => key === chosen?.key && at === chosen.at);
  const here = known === -1 ? found.length - 1 : known;
  const go = (step: 1 | -1) => setChosen(found[(here + step + found.length) % found.length]);
  /** Stays where it is then: lines that come do not move the view. */
  const search = (text: string) => {
    setWanted(text);
    setChosen(foundIn(lines, text).at(-1));
  };
  return { wanted, search, found, here, go };
}

/** What a log shows, and how it is kept at its end. */
function Lines({
  label,
  several,
  wrap,
  wanted,
  markedTo,
  lines,
  here,
  empty,
}: {
  readonly label: string;
  readonly several: boolean;
  readonly wrap: boolean;
  readonly wanted: string;
  /** The last line that is marked. */
  readonly markedTo: number;
  readonly lines: readonly LogLine[];
  readonly here: Found | undefined;
  readonly empty: string;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const place = here === undefined ? '' : `${here.key}/${here.at}`;
  const toEnd = () => {
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  useEffect(() => {
    if (isAtEnd) toEnd();
  }, [lines, isAtEnd, wrap]);
  useEffect(() => {
    if (place !== '')
      scroller.current?.querySelector('[data-here]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [place]);
  return (
    <div className="relative">
      <div
        ref={scroller}
        role="log"
        aria-label={label}
        aria-live="off"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          const left = currentTarget.scrollHeight - currentTarget.scrollTop - currentTarget.clientHeight;
          setAtEnd(left < AT_END_PX);
        }}
        className="h-[min(60dvh,40rem)] overflow-auto rounded-lg border bg-surface p-3 font-mono text-xs leading-5"
      >
        {lines.length === 0 ? <p className="text-muted">{empty}</p> : null}
        {lines.map((line) => (
          <Line
            key={line.key}
            line={line}
            several={several}
            wrap={wrap}
            wanted={line.key <= markedTo ? wanted : ''}
            here={here?.key === line.key ? here.at : undefined}
          />
        ))}
      </div>
      {isAtEnd ? null : (
        <span className="absolute right-5 bottom-4">
          <Button small onClick={toEnd}>
            To the newest line
          </Button>
        </span>
      )}
    </div>
  );
}

/** A log: followed and held, found in, with times or without, and taken along as a file. */
export function LogView({
  label,
  fileName,
  source,
  several = false,
  choices,
}: {
  readonly label: string;
  /** Of the file that it is saved as, without its ending. */
  readonly fileName: string;
  /** Another one is another log. */
  readonly source: LogSource;
  /** Lines of more than one instance: each says whose it is. */
  readonly several?: boolean;
  /** Before the search: what the log is of. */
  readonly choices?: ReactNode;
}) {
  const { isKept, isTimed } = source;
  const [isPaused, setPaused] = useState(false);
  const [hasTimes, setTimes] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [isFiltered, setFiltered] = useState(false);
  const [reading, setReading] = useState(0);
  const log = useLog(source, { timestamps: hasTimes && isTimed, isPaused: isPaused && !isKept, reading });
  const { wanted, search, found, here, go } = useFound(log.lines);
  const shown = useMemo(() => {
    if (wanted === '' || !isFiltered) return log.lines;
    const text = lowered(wanted);
    return log.lines.filter((line) => lowered(line.text).includes(text));
  }, [log.lines, wanted, isFiltered]);
  const isOver = log.state === 'ended';
  const readAgain = () => {
    setPaused(false);
    setReading(reading + 1);
  };
  const turnTimes = () => {
    // It is read anew, and held it would be empty.
    setPaused(false);
    setTimes(!hasTimes);
  };
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        {choices}
        <SearchBox
          label="Find in the log"
          value={wanted}
          onChange={search}
          onEnter={(isBack) => go(isBack ? 1 : -1)}
        />
        {wanted === '' ? null : (
          <>
            <span role="status" className="min-w-16 text-center text-xs text-muted tabular-nums">
              {foundText(found, here)}
            </span>
            <span className="flex -rotate-90">
              <IconButton
                icon="chevron"
                label="Earlier place"
                disabled={found.length === 0}
                onClick={() => go(-1)}
              />
            </span>
            <span className="flex rotate-90">
              <IconButton
                icon="chevron"
                label="Later place"
                disabled={found.length === 0}
                onClick={() => go(1)}
              />
            </span>
            <Button small aria-pressed={isFiltered} onClick={() => setFiltered(!isFiltered)}>
              Only these lines
            </Button>
          </>
        )}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {isTimed ? (
          <Button small aria-pressed={hasTimes} icon="clock" onClick={turnTimes}>
            Times
          </Button>
        ) : null}
        <Button small aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
          Wrap
        </Button>
        <Button
          small
          icon="download"
          disabled={shown.length === 0}
          onClick={() => saveFile(`${fileName}.log`, fileText(shown, several), 'text/plain')}
        >
          Download
        </Button>
        {/* Lines that wait are shown before anything is read again, which may be gone. */}
        {isKept && log.error === undefined ? null : isOver && !isPaused ? (
          <Button small icon="refresh" onClick={readAgain}>
            Read again
          </Button>
        ) : (
          <Button
            small
            aria-pressed={isPaused}
            icon={isPaused ? 'play' : 'pause'}
            onClick={() => setPaused(!isPaused)}
          >
            <EitherWord shown={isPaused ? 'Follow' : 'Pause'} other={isPaused ? 'Pause' : 'Follow'} />
          </Button>
        )}
        <span className="text-xs text-muted" role="status">
          {stateText(log, isPaused, isKept)}
          {log.lines.length === MAX_LINES ? `, the last ${MAX_LINES.toLocaleString('en')} lines` : ''}
        </span>
      </div>
      {log.error === undefined ? null : <ErrorNotice error={log.error} />}
      <Lines
        label={label}
        several={several}
        wrap={wrap}
        wanted={wanted}
        markedTo={lastMarked(found)}
        lines={shown}
        here={found[here]}
        empty={
          log.lines.length > 0 ? 'No line contains this.' : isOver ? 'It printed nothing.' : 'No lines yet.'
        }
      />
    </div>
  );
}
