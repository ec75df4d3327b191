import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { useApi, useSession } from '../../app/session.tsx';
import { useRecords, useReread } from '../../app/use-records.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import { bytes, count } from '../../lib/format.ts';
import type { Recommendation } from '../../lib/records.ts';
import { reasonFirst } from '../../lib/reason-first.ts';

const TONES: Readonly<Record<Recommendation['priority'], Tone>> = {
  critical: 'bad',
  high: 'warn',
  medium: 'info',
  low: 'none',
};

/** What applying it does. */
function actionText({ parameters }: Recommendation): string {
  const { action, target_replicas: copies, target_size_bytes: size } = parameters;
  if (action === 'set_replicas' && typeof copies === 'number')
    return `Have ${count(copies, 'copy', 'copies')} beside the primary`;
  if (action === 'resize' && typeof size === 'number') return `Make it ${bytes(size)}`;
  return 'Nothing that can be done from here';
}

function Row({
  recommendation,
  volume,
  onApply,
}: {
  readonly recommendation: Recommendation;
  readonly volume: string;
  readonly onApply: (() => void) | undefined;
}) {
  const { priority, type, reason, volume_id, applicable } = recommendation;
  return (
    <li className="flex flex-wrap items-center gap-x-5 gap-y-2 border-b px-4 py-3 last:border-b-0">
      <span className="w-20">
        <Badge tone={TONES[priority]}>{priority}</Badge>
      </span>
      <div className="min-w-64 flex-1">
        <p>
          <Link to={`/volumes/${volume_id}`} className="font-medium hover:text-accent hover:underline">
            {volume}
          </Link>
          <span className="text-muted"> · {type}</span>
        </p>
        <p className="mt-0.5 text-muted">{reasonFirst(reason)}</p>
        <p className="mt-0.5 text-xs">{actionText(recommendation)}</p>
      </div>
      {onApply === undefined ? null : applicable ? (
        <Button onClick={onApply}>Apply</Button>
      ) : (
        <span className="text-xs text-muted">cannot be applied</span>
      )}
    </li>
  );
}

export function RecommendationsPage() {
  const api = useApi();
  const { can } = useSession();
  const reread = useReread();
  const { done } = useToast();
  const { data, error } = useRecords('recommendations', 'GET /api/v1/dvm/recommendations');
  const { data: volumes = [] } = useRecords('volumes', 'GET /api/v1/dvm/volumes');
  const [chosen, setChosen] = useState<Recommendation>();
  const names = new Map(volumes.map(({ id, name }) => [id, name]));
  const nameOf = ({ volume_id: id }: Recommendation) => names.get(id) ?? id;
  const apply = async () => {
    if (chosen === undefined) return;
    await api.call('POST /api/v1/dvm/recommendations/{id}/apply', { params: { id: chosen.id } });
    done(`${nameOf(chosen)}: ${actionText(chosen).toLowerCase()}.`);
    await reread('recommendations', 'volumes');
  };
  return (
    <Page
      title="Recommendations"
      note="What would be good for the volumes, worked out from how they are now. Nothing is done by itself."
    >
      {error === null ? null : <ErrorNotice error={error} />}
      {data === undefined ? (
        error === null ? (
          <Panel>
            <Loading lines={4} />
          </Panel>
        ) : null
      ) : (
        <Panel flush>
          {data.length === 0 ? (
            <EmptyState title="Nothing to recommend" icon="bulb">
              <p>Every volume has the copies and the room it should have.</p>
            </EmptyState>
          ) : (
            <ul aria-label="Recommendations">
              {data.map((recommendation) => (
                <Row
                  key={recommendation.id}
                  recommendation={recommendation}
                  volume={nameOf(recommendation)}
                  onApply={can('volumes.manage') ? () => setChosen(recommendation) : undefined}
                />
              ))}
            </ul>
          )}
        </Panel>
      )}
      <Confirm
        title="Apply this recommendation?"
        action="Apply"
        isOpen={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        onConfirm={apply}
      >
        {chosen === undefined ? null : (
          <>
            <p>
              <strong>{nameOf(chosen)}</strong>: {actionText(chosen)}.
            </p>
            <p className="text-muted">{chosen.reason}</p>
          </>
        )}
      </Confirm>
    </Page>
  );
}
