import { useMemo, useState } from 'react';
import { followedPastStops } from '../../../sdk/index.ts';
import { useApi } from '../../app/session.tsx';
import { LogView } from '../../components/log-view.tsx';
import type { LogSource } from '../../components/use-log.ts';
import { ago } from '../../lib/format.ts';
import { followedEntries, keptEntries } from '../../lib/log-lines.ts';
import type { Failure, Instance } from '../../lib/records.ts';

const TAIL = 1000;
/** Of the choice: what an instance printed before it failed. */
const FAILED = 'failed:';

/** Of one instance or all of them, now; or what one printed last before it failed. */
function useSource(name: string, chosen: string): LogSource {
  const api = useApi();
  return useMemo(() => {
    const params = { name };
    if (chosen.startsWith(FAILED)) {
      const instance = chosen.slice(FAILED.length);
      return {
        isKept: true,
        isTimed: true,
        open: ({ signal, timestamps }) =>
          keptEntries(
            api.pieces('GET /api/v1/deployments/{name}/logs', {
              signal,
              params,
              query: { previous: true, instance, timestamps },
            }),
            instance,
            timestamps,
          ),
      };
    }
    return {
      isKept: false,
      isTimed: true,
      open: ({ timestamps, ...settings }) =>
        followedEntries(
          followedPastStops((since) => {
            const part = since === undefined ? { tail: TAIL } : { since };
            return api.frames('GET /api/v1/deployments/{name}/logs', {
              ...settings,
              ...(since === undefined ? {} : { attempts: 1 }),
              params,
              query: { follow: true, ...part, timestamps, instance: chosen === '' ? undefined : chosen },
            });
          }, settings),
          timestamps,
          true,
        ),
    };
  }, [api, name, chosen]);
}

/** The newest of each instance: of those before it nothing is kept but that they happened. */
function newestOfEach(failures: readonly Failure[]): readonly Failure[] {
  return failures.filter((one, at) => failures.findIndex(({ instance }) => instance === one.instance) === at);
}

/** What the instances of a deployment print, and what those that failed printed last. */
export function LogsPanel({
  name,
  instances,
  failures,
  only,
}: {
  readonly name: string;
  readonly instances: readonly Pick<Instance, 'id' | 'nodeId' | 'canary'>[];
  /** Newest first. */
  readonly failures: readonly Failure[];
  /** Of this instance alone. */
  readonly only?: string;
}) {
  const [chosen, setChosen] = useState(only ?? '');
  const source = useSource(name, chosen);
  const failed = newestOfEach(failures);
  // What is read may be replaced meanwhile: the choice goes on saying what it is.
  const isListed =
    chosen === '' ||
    instances.some(({ id }) => id === chosen) ||
    failed.some(({ instance }) => `${FAILED}${instance}` === chosen);
  return (
    <LogView
      key={chosen}
      label={`Log of ${only ?? name}`}
      fileName={chosen === '' ? name : `${name}-${chosen.slice(-8)}`}
      source={source}
      several={chosen === '' && instances.length > 1}
      choices={
        only !== undefined && failed.length === 0 ? undefined : (
          <select
            aria-label="Instance"
            value={chosen}
            onChange={(event) => setChosen(event.target.value)}
            className="h-9 w-full rounded-md border border-line-strong bg-surface px-2 sm:max-w-80"
          >
            {isListed ? null : <option value={chosen}>{chosen.slice(-8)}, which is gone</option>}
            <optgroup label="Now">
              {only === undefined ? <option value="">All instances</option> : null}
              {instances.map(({ id, nodeId, canary }) => (
                <option key={id} value={id}>
                  {id.slice(-8)} on {nodeId}
                  {canary ? ' (canary)' : ''}
                </option>
              ))}
            </optgroup>
            {failed.length === 0 ? null : (
              <optgroup label="Before it failed">
                {failed.map(({ instance, nodeId, at, reason }) => (
                  <option key={instance} value={`${FAILED}${instance}`}>
                    {reason.replaceAll('_', ' ')} {ago(at, Date.now())}: {instance.slice(-8)} on {nodeId}
                  </option>
                ))}
              </optgroup>
            )}
          </select>
        )
      }
    />
  );
}
