import { keysOf, recordOf } from '../../../core/model/values.ts';
import { useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi, useSession } from '../../app/session.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { FormRejection, TextField, UnclaimedRejection } from '../../components/field.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { useToast } from '../../components/toast.tsx';
import { useWrite } from '../../components/use-write.ts';
import { type AnswerTo, unjudged } from '../../../sdk/index.ts';
import { numberOrText } from '../../lib/draft.ts';

const LABELS = {
  minReplicas: 'At least',
  maxReplicas: 'At most',
  targetCpuPercent: 'Target CPU, %',
  cooldown: 'Cooldown',
} as const;
const KEYS = keysOf(LABELS);
const USUAL: Entered = { minReplicas: '1', maxReplicas: '10', targetCpuPercent: '60', cooldown: '5m' };

type ScalingPolicy = AnswerTo<'GET /api/v1/deployments/{name}/scaling-policy'>;
type Entered = Readonly<Record<keyof typeof LABELS, string>>;

function usePolicy(name: string) {
  const api = useApi();
  const { tenant } = useSession();
  return useQuery({
    queryKey: [tenant.id, 'scaling', name],
    // That there is none is an answer.
    queryFn: async ({ signal }) => {
      const none = ['scaling_policy_not_found'] as const;
      const asked = { params: { name }, signal };
      return (await api.callUnless(none, 'GET /api/v1/deployments/{name}/scaling-policy', asked)) ?? null;
    },
    refetchInterval: 15_000,
  });
}

function PolicyForm({ name, policy }: { readonly name: string; readonly policy: ScalingPolicy | null }) {
  const api = useApi();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const { done } = useToast();
  const { isBusy, rejection, write } = useWrite();
  const [entered, setEntered] = useState<Entered>(() =>
    recordOf(KEYS, (key) => String(policy?.[key] ?? USUAL[key])),
  );
  const of = { params: { name } };
  const save = () =>
    write(async () => {
      const body = {
        ...entered,
        minReplicas: numberOrText(entered.minReplicas),
        maxReplicas: numberOrText(entered.maxReplicas),
        targetCpuPercent: numberOrText(entered.targetCpuPercent),
      };
      await api.call('PUT /api/v1/deployments/{name}/scaling-policy', { ...of, body: unjudged(body) });
      done(`${name} scales by its load.`);
      await queries.invalidateQueries({ queryKey: [tenant.id, 'scaling', name] });
    });
  const remove = () =>
    write(async () => {
      await api.call('DELETE /api/v1/deployments/{name}/scaling-policy', of);
      done(`${name} keeps its number of instances.`);
      await queries.invalidateQueries({ queryKey: [tenant.id, 'scaling', name] });
    });
  return (
    <FormRejection rejection={rejection}>
      <div className="flex flex-col gap-4">
        <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
          {KEYS.map((key) => (
            <TextField
              key={key}
              path={key}
              label={LABELS[key]}
              value={entered[key]}
              onChange={(value) => setEntered({ ...entered, [key]: value })}
            />
          ))}
        </div>
        <UnclaimedRejection paths={KEYS} />
        <div className="flex gap-2">
          <Button tone="primary" busy={isBusy} onClick={() => void save()}>
            {policy === null ? 'Scale by load' : 'Save policy'}
          </Button>
          {policy === null ? null : (
            <Button tone="danger" busy={isBusy} onClick={() => void remove()}>
              Remove policy
            </Button>
          )}
        </div>
      </div>
    </FormRejection>
  );
}

/** How many instances there may be, and the load they are to have. */
export function ScalingPanel({ name }: { readonly name: string }) {
  const { can } = useSession();
  const { data, error } = usePolicy(name);
  const status = data?.status;
  return (
    <Panel title="Scaling policy" note="Instances follow the CPU load that agents measure">
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <ErrorNotice error={error} />
        )
      ) : (
        <div className="flex flex-col gap-4">
          {status === null || status === undefined ? null : (
            <p className="text-muted">
              {status.message}
              {status.cpuPercent === undefined ? null : ` (${status.cpuPercent.toFixed(0)} % now)`}
            </p>
          )}
          {can('deploy') ? (
            <PolicyForm key={data === null ? 'none' : 'set'} name={name} policy={data} />
          ) : data === null ? (
            <p className="text-muted">The number of instances is fixed.</p>
          ) : null}
        </div>
      )}
    </Panel>
  );
}
