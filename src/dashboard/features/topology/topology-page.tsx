import { startTransition, useEffect, useMemo, useRef, useState } from 'react';
import { useRecords } from '../../app/use-records.ts';
import { keysOf } from '../../../core/model/values.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { type Kind, KINDS, type Place, placesOf } from './cells.ts';
import { fade } from './fade.ts';
import { PlaceView } from './place-view.tsx';

function Legend({ places }: { readonly places: readonly Place[] }) {
  const counts = new Map<Kind, number>();
  for (const { cells } of places) for (const { kind } of cells) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return (
    <ul className="flex flex-wrap gap-x-5 gap-y-1.5 text-xs">
      {keysOf(KINDS)
        .filter((kind) => counts.has(kind))
        .map((kind) => (
          <li key={kind} className="flex items-center gap-1.5">
            <span
              aria-hidden="true"
              className={`grid size-5 place-items-center rounded text-2xs font-semibold ${KINDS[kind].look}`}
            >
              {KINDS[kind].letter}
            </span>
            {KINDS[kind].title}
            <span className="text-muted tabular-nums">{counts.get(kind)?.toLocaleString('en')}</span>
          </li>
        ))}
    </ul>
  );
}

/** What is in sight at first; the others come while nothing waits for them. */
const FIRST_DRAWN = 8;

function useDrawn(isThere: boolean): number {
  const [drawn, setDrawn] = useState(FIRST_DRAWN);
  useEffect(() => {
    if (isThere) startTransition(() => setDrawn(Number.POSITIVE_INFINITY));
  }, [isThere]);
  return drawn;
}

/** Where everything runs: nodes, and on each its instances, as it changes. */
export function TopologyPage() {
  const nodes = useRecords('nodes', 'GET /api/v1/nodes');
  const deployments = useDeployments();
  const jobs = useRecords('jobs', 'GET /api/v1/jobs');
  const [text, setText] = useState('');
  const wanted = useRef('');
  const room = useRef<HTMLDivElement>(null);
  const places = useMemo(
    () =>
      nodes.data === undefined || deployments.data === undefined
        ? undefined
        : placesOf(nodes.data, deployments.data, jobs.data ?? []),
    [nodes.data, deployments.data, jobs.data],
  );
  const drawn = useDrawn(places !== undefined);
  const search = (next: string) => {
    setText(next);
    wanted.current = next.trim().toLowerCase();
    fade(room.current, wanted.current);
  };
  const error = nodes.error ?? deployments.error;
  return (
    <Page
      title="Topology"
      note="What runs where, as it changes. Arrows move between instances, Enter opens one."
    >
      {error === null ? null : <ErrorNotice error={error} />}
      {places === undefined ? (
        error === null ? (
          <Loading lines={6} />
        ) : null
      ) : places.length === 0 ? (
        <Panel>
          <EmptyState title="No nodes yet" icon="server" />
        </Panel>
      ) : (
        <>
          <div className="flex flex-wrap items-center justify-between gap-3">
            <Legend places={places} />
            <SearchBox label="Find deployments and jobs" value={text} onChange={search} />
          </div>
          <Panel flush>
            <div ref={room}>
              {places.slice(0, drawn).map((place) => (
                <PlaceView key={place.name} place={place} wanted={wanted} />
              ))}
            </div>
          </Panel>
        </>
      )}
    </Page>
  );
}
