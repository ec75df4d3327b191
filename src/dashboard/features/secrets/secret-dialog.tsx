import { ButtonLink } from '../../components/button.tsx';
import { Badge } from '../../components/badge.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { type SecretPath, useSecretConsumers } from './secret-queries.ts';

/** Everything that is known of a path. */
export function SecretDialog({ path, onClose }: { readonly path: SecretPath; readonly onClose: () => void }) {
  const { data, error } = useSecretConsumers(path.name);
  return (
    <Dialog wide title={path.path} isOpen onClose={onClose}>
      <Facts
        facts={[
          [
            'State',
            path.exists
              ? `version ${path.version}`
              : (path.problem ?? 'missing: what reads it does not start'),
          ],
          [
            'Keys',
            <code key="keys" className="font-mono">
              {path.keys.join(', ') || 'none'}
            </code>,
          ],
        ]}
      />
      <h3 className="font-semibold">Consumers</h3>
      {data === undefined ? (
        error === null ? (
          <Loading />
        ) : (
          <ErrorNotice error={error} />
        )
      ) : (
        <ul className="rounded-md border">
          {data.map(({ deployment, job, secret, anchor, secretsVersion }) => (
            <li
              key={`${deployment ?? ''}/${job ?? ''}/${secret}`}
              className="flex flex-wrap items-center gap-3 border-b px-3 py-2 last:border-b-0"
            >
              <span className="min-w-0 flex-1 font-medium">{deployment ?? `job ${job ?? ''}`}</span>
              <code className="font-mono text-xs text-muted">{secret}</code>
              <Badge>{anchor}</Badge>
              <span className="text-xs text-muted">version {secretsVersion}</span>
              {deployment === undefined ? null : (
                <ButtonLink small to={`/deployments/${deployment}`} search={{ tab: 'secrets' }}>
                  Rotate
                </ButtonLink>
              )}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
