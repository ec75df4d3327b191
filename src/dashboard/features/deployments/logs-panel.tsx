import { useCallback, useState } from 'react';
import { useApi } from '../../app/session.tsx';
import { type Follow, LogView } from '../../components/log-view.tsx';
import type { Instance } from '../../lib/records.ts';

const TAIL = 200;

/** Of one instance, or of all of them. */
export function useDeploymentLog(name: string, instance: string | undefined): Follow {
  const api = useApi();
  return useCallback<Follow>(
    (settings) =>
      api.frames('GET /api/v1/deployments/{name}/logs', {
        ...settings,
        params: { name },
        query: { follow: true, tail: TAIL, instance },
      }),
    [api, name, instance],
  );
}

export function LogsPanel({
  name,
  instances,
}: {
  readonly name: string;
  readonly instances: readonly Instance[];
}) {
  const [instance, setInstance] = useState('');
  const follow = useDeploymentLog(name, instance === '' ? undefined : instance);
  return (
    <LogView
      label={`Log of ${name}`}
      follow={follow}
      several={instance === '' && instances.length > 1}
      choices={
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
      }
    />
  );
}
