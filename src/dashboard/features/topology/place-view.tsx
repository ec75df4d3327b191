import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react';
import { Link, useRouter } from '@tanstack/react-router';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { count } from '../../lib/format.ts';
import { NodeBadge } from '../nodes/node-status.tsx';
import { fade } from './fade.ts';
import { type Cell, KINDS, type Place } from './cells.ts';

/** More of one node are drawn when asked for. */
const MAX_DRAWN = 600;

function NodeState({ place: { node, name } }: { readonly place: Place }) {
  if (name === 'On no node') return <Badge tone="warn">waiting</Badge>;
  return node === undefined ? <Badge tone="bad">gone</Badge> : <NodeBadge node={node} />;
}

function label({ owner, kind, isCanary, text }: Cell): string {
  return `${owner}${isCanary ? ' (canary)' : ''}: ${kind === 'job' ? KINDS.job.title : text}`;
}

/** Cells of one row of the screen, by where they are drawn. */
function neighbour(from: HTMLElement, key: string): HTMLElement | undefined {
  const all = [...(from.parentElement?.querySelectorAll<HTMLElement>('a') ?? [])];
  const at = all.indexOf(from);
  if (key === 'ArrowRight') return all[at + 1];
  if (key === 'ArrowLeft') return all[at - 1];
  if (key === 'Home') return all[0];
  if (key === 'End') return all.at(-1);
  const isBelow = key === 'ArrowDown';
  const rows = isBelow ? all.slice(at + 1) : all.slice(0, at).toReversed();
  return rows.find(
    (other) => other.offsetTop !== from.offsetTop && Math.abs(other.offsetLeft - from.offsetLeft) < 4,
  );
}

const KEYS = new Set(['ArrowRight', 'ArrowLeft', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

/** One stop for Tab, arrows within: thousands of stops would be a wall. */
function moveFocus(event: KeyboardEvent): void {
  if (!KEYS.has(event.key) || !(event.target instanceof HTMLAnchorElement)) return;
  event.preventDefault();
  const next = neighbour(event.target, event.key);
  if (next === undefined) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** A node with its instances. Drawn again only when something in it has changed. */
export const PlaceView = memo(
  function PlaceView({ place, wanted }: { readonly place: Place; readonly wanted: RefObject<string> }) {
    const router = useRouter();
    const [isWhole, setWhole] = useState(false);
    const room = useRef<HTMLDivElement>(null);
    const { name, node, cells } = place;
    const drawn = isWhole ? cells : cells.slice(0, MAX_DRAWN);
    // The one that Tab stopped at may be gone.
    useEffect(() => {
      if (room.current?.querySelector('a[tabindex="0"]') === null)
        room.current.querySelector('a')?.setAttribute('tabindex', '0');
      // Cells that have come since.
      fade(room.current, wanted.current);
    });
    const follow = (event: MouseEvent) => {
      if (!(event.target instanceof HTMLAnchorElement)) return;
      // A new tab or window is the browser's to open.
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      void router.navigate({ to: event.target.pathname });
    };
    return (
      <section
        aria-label={name}
        className="grid gap-x-6 gap-y-2 border-b px-4 py-3 [contain-intrinsic-size:auto_5rem] [content-visibility:auto] last:border-b-0 sm:grid-cols-[13rem_1fr]"
      >
        <div className="min-w-0">
          <h2 className="flex items-center gap-2">
            {node === undefined ? (
              <span className="font-medium">{name}</span>
            ) : (
              <Link to={`/nodes/${name}`} className="truncate font-medium hover:text-accent hover:underline">
                {name}
              </Link>
            )}
            <NodeState place={place} />
          </h2>
          <p className="text-xs text-muted">{count(cells.length, 'instance')}</p>
        </div>
        {cells.length === 0 ? (
          <p className="self-center text-xs text-muted">Nothing is placed here.</p>
        ) : (
          <div className="min-w-0">
            {/* Clicks and keys of the links within, each of which is one by itself. */}
            {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events */}
            <div ref={room} className="relative flex flex-wrap gap-1" onClick={follow} onKeyDown={moveFocus}>
              {drawn.map((cell, at) => {
                const { letter, look } = KINDS[cell.kind];
                return (
                  <a
                    key={cell.id}
                    href={cell.to}
                    data-owner={cell.owner}
                    tabIndex={at === 0 ? 0 : -1}
                    aria-label={label(cell)}
                    title={label(cell)}
                    className={`grid size-6 place-items-center rounded text-2xs font-semibold data-faded:opacity-15 hover:outline-2 hover:outline-ink ${look} ${cell.isCanary ? 'ring-2 ring-info ring-offset-1 ring-offset-surface' : ''}`}
                  >
                    {letter}
                  </a>
                );
              })}
            </div>
            {drawn.length === cells.length ? null : (
              <div className="pt-2">
                <Button small onClick={() => setWhole(true)}>
                  Draw {(cells.length - drawn.length).toLocaleString('en')} more
                </Button>
              </div>
            )}
          </div>
        )}
      </section>
    );
  },
  (before, after) => before.place.sign === after.place.sign,
);
