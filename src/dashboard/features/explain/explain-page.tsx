import { useState } from 'react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useParam } from '../../app/address.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { PendingPage } from '../../components/pending-page.tsx';
import type { Explanation } from '../../lib/records.ts';
import { shortId } from '../../../core/model/instance-name.ts';
import { reasonFirst } from '../../lib/reason-first.ts';

type NodeRow = Explanation['nodes'][number];
type Outcome = NodeRow['outcomes'][number];

const TITLES: Readonly<Record<string, string>> = {
  session: 'Ready',
  excluded: 'Left out',
  quota: 'Tenant quota',
};

/** `anti-affinity` → `Anti affinity`. */
function filterTitle(filter: string): string {
  const name = filter.replaceAll('-', ' ');
  return TITLES[filter] ?? `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`;
}

function OutcomeCell({ outcome }: { readonly outcome: Outcome }) {
  const { passed, required, reported } = outcome;
  return (
    <td className={`min-w-36 border-b border-l px-3 py-2 align-top text-xs ${passed ? '' : 'bg-bad-soft'}`}>
      <span className={`flex items-center gap-1 font-medium ${passed ? 'text-ok' : 'text-bad'}`}>
        <Icon name={passed ? 'check' : 'close'} className="size-3.5" />
        {passed ? 'passes' : 'refuses'}
      </span>
      <span className={`mt-0.5 block ${passed ? 'text-muted' : ''}`}>
        <span className="text-faint">needs: </span>
        {required}
      </span>
      <span className={`block ${passed ? 'text-muted' : ''}`}>
        <span className="text-faint">has: </span>
        {reported}
      </span>
    </td>
  );
}

function Table({
  explanation,
  filters,
}: {
  readonly explanation: Explanation;
  readonly filters: readonly string[];
}) {
  const placed = new Map<string, number>();
  for (const { node } of explanation.instances) placed.set(node, (placed.get(node) ?? 0) + 1);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section
      aria-label="Nodes and filters"
      tabIndex={0}
      className="overflow-auto"
      style={{ maxHeight: 'calc(100dvh - 18rem)' }}
    >
      <table className="w-full border-separate border-spacing-0 text-left">
        <thead>
          <tr>
            <th
              scope="col"
              className="sticky top-0 left-0 z-20 min-w-32 border-b bg-surface sm:min-w-40 px-4 py-2 text-xs font-medium text-muted"
            >
              Node
            </th>
            {filters.map((filter) => (
              <th
                key={filter}
                scope="col"
                className="sticky top-0 z-10 border-b border-l bg-surface px-3 py-2 text-xs font-medium text-muted"
              >
                {filterTitle(filter)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {explanation.nodes.map(({ node, fits, outcomes }) => (
            <tr key={node}>
              <th
                scope="row"
                className="sticky left-0 z-10 border-b bg-surface px-4 py-2 align-top font-medium"
              >
                {node}
                <span className="mt-1 flex flex-wrap gap-1">
                  {explanation.chosen?.node === node ? (
                    <Badge tone="ok">next choice</Badge>
                  ) : (
                    <Badge tone={fits ? 'ok' : 'bad'}>{fits ? 'fits' : 'does not fit'}</Badge>
                  )}
                  {placed.has(node) ? <Badge tone="info">runs {placed.get(node)}</Badge> : null}
                </span>
              </th>
              {filters.map((filter) => {
                const outcome = outcomes.find((one) => one.filter === filter);
                return outcome === undefined ? (
                  <td key={filter} />
                ) : (
                  <OutcomeCell key={filter} outcome={outcome} />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The newest page tells of the whole, all pages of their nodes. */
function joined(pages: readonly Explanation[]): Explanation | undefined {
  const last = pages.at(-1);
  if (last === undefined) return undefined;
  return {
    ...last,
    nodes: pages.flatMap(({ nodes }) => nodes),
    instances: pages.flatMap(({ instances }) => instances),
    misplaced: pages.flatMap(({ misplaced }) => misplaced),
  };
}

/** Of more nodes than a page shows: how many refuse for what, and which of them lacks least. */
function Groups({ explanation: { refused, fitting, total } }: { readonly explanation: Explanation }) {
  return (
    <ul className="mt-2 list-disc pl-10 text-muted">
      {fitting > 0 ? (
        <li>
          {fitting} of {total} nodes fit
        </li>
      ) : null}
      {refused.map(({ filters, nodes, nearest }) => (
        <li key={filters.join()}>
          {nodes} refuse: {filters.map(filterTitle).join(', ')}; <strong>{nearest}</strong> lacks least
        </li>
      ))}
    </ul>
  );
}

/** Every node against every filter: what is required, what the node reports, and what that means. */
export function ExplainPage() {
  const name = useParam('name');
  const api = useApi();
  const { tenant } = useSession();
  const [isAll, setAll] = useState(true);
  const {
    data: pages,
    error,
    hasNextPage,
    isFetchingNextPage,
    fetchNextPage,
  } = useInfiniteQuery({
    queryKey: [tenant.id, 'explain', name],
    initialPageParam: '',
    queryFn: ({ signal, pageParam: cursor }) =>
      api.call('GET /api/v1/deployments/{name}/explain', {
        params: { name },
        ...(cursor !== '' && { query: { cursor } }),
        signal,
      }),
    getNextPageParam: ({ cursor }) => cursor,
    refetchInterval: 10_000,
  });
  const data = pages === undefined ? undefined : joined(pages.pages);
  const page = { title: `Placement of ${name}`, back: { to: `/deployments/${name}`, title: name } };
  if (data === undefined) return <PendingPage {...page} error={error} />;
  const inOrder = (data.nodes[0]?.outcomes ?? []).map(({ filter }) => filter);
  const refusing = inOrder.filter((filter) =>
    data.nodes.some(({ outcomes }) => outcomes.some((one) => one.filter === filter && !one.passed)),
  );
  // What refuses a node is what one came to see.
  const filters = [...refusing, ...inOrder.filter((filter) => !refusing.includes(filter))];
  return (
    <Page {...page} note="What would become of one more instance, node by node.">
      <Panel>
        <p className="flex items-start gap-2 font-medium">
          <span className={data.chosen === undefined ? 'text-bad' : 'text-ok'}>
            <Icon name={data.chosen === undefined ? 'warning' : 'check'} />
          </span>
          <span>
            {reasonFirst(data.summary)}
            {data.chosen === undefined ? null : (
              <span className="block font-normal text-muted">
                It would go to <strong className="text-ink">{data.chosen.node}</strong>: {data.chosen.why}.
              </span>
            )}
          </span>
        </p>
        {data.total > data.nodes.length ? <Groups explanation={data} /> : null}
        {[
          ...data.misplaced.map(
            ({ id, node, reasons }) =>
              `${shortId(id)} on ${node}: ${reasons.map(({ message }) => message).join('; ')}`,
          ),
          ...data.warnings.map(({ why }) => why),
        ].map((text) => (
          <p key={text} className="mt-2 flex items-center gap-2 text-warn">
            <Icon name="warning" />
            {text}
          </p>
        ))}
        {data.waitingFor.map((gate) => (
          <p key={gate} className="mt-2 flex items-center gap-2 text-warn">
            <Icon name="clock" />
            {gate}
          </p>
        ))}
      </Panel>
      {data.nodes.length === 0 ? (
        <EmptyState title="No nodes are enrolled" icon="server" />
      ) : (
        <Panel
          flush
          title="Nodes × filters"
          note="Needs: what the deployment requires. Has: what the node reports."
          actions={
            <label className="flex items-center gap-2 text-xs">
              <input
                type="checkbox"
                checked={isAll}
                onChange={(event) => setAll(event.target.checked)}
                className="accent-(--accent)"
              />
              Show filters that every node passes
            </label>
          }
        >
          <Table explanation={data} filters={isAll ? filters : refusing} />
          {hasNextPage ? (
            <p className="flex items-center gap-3 px-4 py-2 text-xs text-muted">
              {data.nodes.length} of {data.total} nodes
              <Button small busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                Show more
              </Button>
            </p>
          ) : null}
        </Panel>
      )}
    </Page>
  );
}
