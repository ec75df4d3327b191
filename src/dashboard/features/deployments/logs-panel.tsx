import { useState } from 'react';
import { LogView } from '../../components/log-view.tsx';
import type { Instance } from '../../lib/records.ts';
import { deploymentPath } from './deployment-queries.ts';

const TAIL = '200';

export function LogsPanel({
  name,
  instances,
}: {
  readonly name: string;
  readonly instances: readonly Instance[];
}) {
  const [instance, setInstance] = useState('');
  const query = new URLSearchParams({
    follow: 'true',
    tail: TAIL,
    ...(instance === '' ? {} : { instance }),
  });
  return (
    <LogView
      label={`Log of ${name}`}
      path={`${deploymentPath(name)}/logs?${query.toString()}`}
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
