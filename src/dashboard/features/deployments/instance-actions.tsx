import { useState } from 'react';
import { INSTANCE_SIGNALS } from '../../../core/model/stop.ts';
import { type AnswerTo, type BodyFor, unjudged } from '../../../sdk/index.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { SelectField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useToast } from '../../components/toast.tsx';
import type { InstanceDetail } from '../../lib/records.ts';
import { useDeploymentWritten } from './deployment-queries.ts';

const SIGNALS = INSTANCE_SIGNALS.map((signal) => [signal, signal] as const);

type Ordered = AnswerTo<'POST /api/v1/deployments/{name}/instances/{instance}/restart'>;

/** A terminal, and orders to this one; the deployment's own are on its page. */
export function InstanceActions({ instance }: { readonly instance: InstanceDetail }) {
  const { id, name: shown, deployment: name } = instance;
  const api = useApi();
  const { can } = useSession();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [dialog, setDialog] = useState<'restart' | 'stop' | 'signal'>();
  const [signal, setSignal] = useState('SIGHUP');
  const params = { name, instance: id };
  const close = () => setDialog(undefined);
  const told = async (ordered: Ordered) => {
    done(`${shown}: ${[ordered.message, ...ordered.warnings.map(({ why }) => why)].join('. ')}`);
    await written(name);
  };
  const order = async (kind: 'restart' | 'stop') =>
    told(await api.call(`POST /api/v1/deployments/{name}/instances/{instance}/${kind}`, { params }));
  const send = async () =>
    told(
      await api.call('POST /api/v1/deployments/{name}/instances/{instance}/signal', {
        params,
        body: unjudged<BodyFor<'POST /api/v1/deployments/{name}/instances/{instance}/signal'>>({ signal }),
      }),
    );
  return (
    <>
      {can('exec') && instance.state === 'running' && instance.nodeStatus === undefined ? (
        <ButtonLink to={`/deployments/${name}`} search={{ tab: 'terminal', instance: id }} icon="terminal">
          Terminal
        </ButtonLink>
      ) : null}
      {can('deploy') ? (
        <>
          <Button icon="pulse" onClick={() => setDialog('signal')}>
            Signal
          </Button>
          <Button icon="refresh" onClick={() => setDialog('restart')}>
            Restart
          </Button>
          <Button tone="danger" icon="close" onClick={() => setDialog('stop')}>
            Stop
          </Button>
        </>
      ) : null}
      <Confirm
        title={`Restart ${shown}?`}
        action="Restart"
        isOpen={dialog === 'restart'}
        onClose={close}
        onConfirm={() => order('restart')}
      >
        <p>
          Its container is replaced in its place, at once. It serves nothing until the new one is healthy.
        </p>
      </Confirm>
      <Confirm
        danger
        title={`Stop ${shown}?`}
        action="Stop"
        isOpen={dialog === 'stop'}
        onClose={close}
        onConfirm={() => order('stop')}
      >
        <p>
          It ends at once, and the deployment places a fresh one, perhaps on another node. To run fewer, scale
          the deployment.
        </p>
      </Confirm>
      {dialog === 'signal' ? (
        <FormDialog
          title={`Send a signal to ${shown}`}
          note="To the first process of its container; one that ends of it is started again."
          action="Send"
          paths={['signal']}
          onClose={close}
          onSubmit={send}
        >
          <SelectField path="signal" label="Signal" value={signal} options={SIGNALS} onChange={setSignal} />
        </FormDialog>
      ) : null}
    </>
  );
}
