import { useState } from 'react';
import { useLiveEvents } from '../../app/live.tsx';
import { useApi } from '../../app/session.tsx';
import { Button, ButtonLink } from '../../components/button.tsx';
import { CopyLine } from '../../components/copy-line.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { bytes, cores, dateTime } from '../../lib/format.ts';
import type { Node } from '../../lib/records.ts';
import { type JoinToken, useNode, useNodes } from './node-queries.ts';

interface Enrolment {
  readonly made: JoinToken;
  /** The only name it may enrol; undefined: the machine's own. */
  readonly wanted: string | undefined;
}

const ARRIVALS = new Set(['node.enrolled', 'node.reenrolled', 'node.key_replaced']);

/** The name of the machine that came with this line: from its event, or from the list if that was missed. */
function useArrival({ wanted }: Enrolment): string | undefined {
  const [enrolled, setEnrolled] = useState<string>();
  const { data: nodes } = useNodes();
  const [known] = useState(() => new Set(nodes?.map(({ name }) => name)));
  useLiveEvents(({ kind, subject }) => {
    if (subject.kind !== 'Node' || !ARRIVALS.has(kind)) return;
    if (wanted === undefined || wanted === subject.name) setEnrolled((before) => before ?? subject.name);
  });
  const found = nodes?.find(({ name }) => !known.has(name) && (wanted === undefined || wanted === name));
  return enrolled ?? found?.name;
}

function Step({ isDone, children }: { readonly isDone: boolean; readonly children: string }) {
  return (
    <li className={`flex items-center gap-2 ${isDone ? 'text-ok' : 'text-muted'}`}>
      <Icon name={isDone ? 'check' : 'clock'} />
      {children}
    </li>
  );
}

function readyText({ name, engine, capacity }: Node): string {
  return `${name} is ready: ${engine.kind} ${engine.version}, ${cores(capacity.cpu)}, ${bytes(capacity.memoryBytes)}`;
}

function Progress({ name }: { readonly name: string }) {
  const { data: node } = useNode(name);
  const isReady = node?.status === 'ready';
  return (
    <>
      <Step isDone>{`It arrived: ${name} is enrolled`}</Step>
      <Step isDone={isReady}>{isReady ? readyText(node) : 'Waiting for its agent to report'}</Step>
    </>
  );
}

function Waiting({ enrolment, onClose }: { readonly enrolment: Enrolment; readonly onClose: () => void }) {
  const { made, wanted } = enrolment;
  const name = useArrival(enrolment);
  return (
    <Dialog
      wide
      title="Enrol a node"
      note={`The line works once, until ${dateTime(made.expiresAt ?? '')}. It is shown here and never again.`}
      isOpen
      onClose={onClose}
      actions={
        <>
          {name === undefined ? null : (
            <ButtonLink to={`/nodes/${name}`} tone="primary">
              Open {name}
            </ButtonLink>
          )}
          <Button onClick={onClose}>{name === undefined ? 'Close' : 'Done'}</Button>
        </>
      }
    >
      <div>
        <p className="pb-1.5">
          Paste on the machine, where <code className="font-mono text-xs">berth</code> and Docker or Podman
          are:
        </p>
        <CopyLine label="Line to paste" text={made.command} />
      </div>
      <ul role="status" className="flex flex-col gap-1.5">
        {name === undefined ? (
          <Step isDone={false}>{`Waiting for ${wanted ?? 'the machine'} to arrive`}</Step>
        ) : (
          <Progress name={name} />
        )}
      </ul>
    </Dialog>
  );
}

/** Makes the line that enrols one machine, and tells when that has come. */
export function EnrolDialog({ onClose }: { readonly onClose: () => void }) {
  const api = useApi();
  const [nodeName, setNodeName] = useState('');
  const [ttl, setTtl] = useState('15m');
  const [enrolment, setEnrolment] = useState<Enrolment>();
  if (enrolment !== undefined) return <Waiting enrolment={enrolment} onClose={onClose} />;
  const make = async (): Promise<'stay'> => {
    const wanted = nodeName === '' ? undefined : nodeName;
    const body = { ttl, ...(wanted === undefined ? {} : { nodeName: wanted }) };
    const made = await api.call('POST /api/v1/join-tokens', { body });
    setEnrolment({ made, wanted });
    return 'stay';
  };
  return (
    <FormDialog
      title="Enrol a node"
      note="One line, pasted on the machine, enrols it for this tenant."
      action="Make the line"
      paths={['nodeName', 'ttl']}
      onClose={onClose}
      onSubmit={make}
    >
      <TextField
        path="nodeName"
        label="Name"
        hint="The only name the line may enrol. Empty: the machine's own."
        placeholder="berlin-1"
        value={nodeName}
        onChange={setNodeName}
      />
      <TextField path="ttl" label="Works for" hint="At most 24h." value={ttl} onChange={setTtl} />
    </FormDialog>
  );
}
