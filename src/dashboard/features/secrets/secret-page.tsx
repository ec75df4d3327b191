import { useState } from 'react';
import { Link } from '@tanstack/react-router';
import { useParam } from '../../app/address.ts';
import { overlapOf, stepOf } from '../../../core/model/rotation-phase.ts';
import { useSession } from '../../app/session.tsx';
import { Badge, PhaseBadge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { RowLink } from '../../components/row-link.tsx';
import type { Deployment } from '../../lib/records.ts';
import { useDeployments } from '../deployments/deployment-queries.ts';
import { CredentialRotationPanel } from './credential-rotation.tsx';
import { type SecretConsumer, useSecret, useSecretConsumers } from './secret-queries.ts';
import { WriteSecret } from './write-secret.tsx';

const STEP_TONES: Readonly<Record<'staged' | 'promoted', Tone>> = { staged: 'info', promoted: 'ok' };

function Consumer({
  consumer: { deployment: name, job, webhook, secret, anchor },
  deployment,
  path,
}: {
  readonly consumer: SecretConsumer;
  readonly deployment: Deployment | undefined;
  readonly path: string;
}) {
  const secrets = deployment?.status.rotation.delivered ?? {};
  const step = stepOf(overlapOf({ secrets }, { name: secret, vault_path: path }));
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-1 border-b px-4 py-2.5 last:border-b-0">
      <span className="min-w-0 flex-1">
        {webhook !== undefined ? (
          `webhook ${webhook}`
        ) : name === undefined ? (
          <RowLink to={`/jobs/${job ?? ''}`}>job {job}</RowLink>
        ) : (
          <Link
            to={`/deployments/${name}`}
            search={{ tab: 'secrets' }}
            className="font-medium hover:text-accent hover:underline"
          >
            {name}
          </Link>
        )}
      </span>
      <code className="font-mono text-xs text-muted">{secret}</code>
      <Badge>{anchor}</Badge>
      {deployment === undefined ? null : (
        <>
          {step === undefined ? (
            <span className="text-xs text-muted">takes no part</span>
          ) : (
            <Badge tone={STEP_TONES[step]}>{step}</Badge>
          )}
          <PhaseBadge phase={deployment.status.phase} />
        </>
      )}
    </li>
  );
}

/** Who reads it, and which of them take part in its rotation. */
function Consumers({ name, path }: { readonly name: string; readonly path: string }) {
  const { data, error } = useSecretConsumers(name);
  const { data: deployments = [] } = useDeployments();
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  return (
    <Panel flush title="Consumers" note="Jobs are given what is in service when a run starts.">
      {data.length === 0 ? <EmptyState title="Nothing reads it" icon="key" /> : null}
      <ul aria-label="Consumers">
        {data.map((consumer) => (
          <Consumer
            key={`${consumer.deployment ?? ''}/${consumer.job ?? ''}/${consumer.webhook ?? ''}/${consumer.secret}`}
            consumer={consumer}
            deployment={deployments.find((one) => one.name === consumer.deployment)}
            path={path}
          />
        ))}
      </ul>
    </Panel>
  );
}

/** Everything that is known of a path: never a value. */
export function SecretPage() {
  const [namespace, name] = [useParam('namespace'), useParam('name')];
  const { can } = useSession();
  const { data: secret, error } = useSecret({ namespace, name });
  const [isWriting, setWriting] = useState(false);
  const path = `${namespace}/${name}`;
  return (
    <Page
      title={path}
      back={{ to: '/secrets', title: 'Secrets' }}
      actions={can('secrets.write') ? <Button onClick={() => setWriting(true)}>Write</Button> : null}
    >
      {error === null ? null : <ErrorNotice error={error} />}
      {secret === undefined ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <>
          <Panel title="Document">
            <Facts
              facts={[
                ['Newest version', secret.version],
                ['In service', secret.current === undefined ? undefined : `version ${secret.current}`],
                [
                  'Keys',
                  <code key="keys" className="font-mono">
                    {secret.keys.join(', ') || 'none'}
                  </code>,
                ],
              ]}
            />
          </Panel>
          <CredentialRotationPanel secret={secret} />
        </>
      )}
      <Consumers name={name} path={path} />
      {isWriting ? <WriteSecret namespace={namespace} name={name} onClose={() => setWriting(false)} /> : null}
    </Page>
  );
}
