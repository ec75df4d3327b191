import { useState } from 'react';
import { useApi, useSession } from '../../app/session.tsx';
import { useReread } from '../../app/use-records.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Panel } from '../../components/page.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { useToast } from '../../components/toast.tsx';
import { secretPage, type UnreferencedSecret, useUnreferencedSecrets } from './secret-queries.ts';

/** Documents that nothing refers to any more: what may be deleted, by who may. */
export function UnreferencedSecrets() {
  const api = useApi();
  const { can } = useSession();
  const { done } = useToast();
  const reread = useReread();
  const { data = [], error } = useUnreferencedSecrets();
  const [asked, setAsked] = useState<UnreferencedSecret>();
  if (error !== null) return <ErrorNotice error={error} />;
  if (data.length === 0) return null;
  const remove = async () => {
    if (asked === undefined) return;
    const { namespace, name, path } = asked;
    await api.call('DELETE /api/v1/secrets/{namespace}/{name}', { params: { namespace, name } });
    done(`${path} is deleted.`);
    await reread('secrets');
  };
  return (
    <Panel flush title="Unreferenced" note="Documents that no deployment, job or certificate refers to">
      <ul aria-label="Unreferenced secrets">
        {data.map((secret) => (
          <li
            key={secret.path}
            className="flex flex-wrap items-center gap-x-6 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
          >
            <span className="min-w-0 flex-1">
              <RowLink to={secretPage(secret)}>
                <span className="font-mono text-xs">{secret.path}</span>
              </RowLink>
            </span>
            <code className="font-mono text-xs text-muted">{secret.keys.join(', ') || 'none'}</code>
            {can('secrets.write') ? (
              <Button
                small
                tone="danger"
                aria-label={`Delete ${secret.path}`}
                onClick={() => setAsked(secret)}
              >
                Delete
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      <Confirm
        danger
        title={`Delete ${asked?.path ?? ''}?`}
        action="Delete"
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        onConfirm={remove}
      >
        <p>
          Every version of it is removed, beyond recovery. An earlier revision that refers to it cannot run
          again.
        </p>
      </Confirm>
    </Panel>
  );
}
