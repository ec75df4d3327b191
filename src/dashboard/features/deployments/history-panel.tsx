import { useState } from 'react';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import { actorText } from '../../../core/model/actor-text.ts';
import { useApi, useSession } from '../../app/session.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { DiffView } from '../../components/diff-view.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Loading } from '../../components/loading.tsx';
import { Panel } from '../../components/page.tsx';
import { TimeAgo } from '../../components/time-ago.tsx';
import { useToast } from '../../components/toast.tsx';
import type { Archive, DeploymentWritten } from '../../lib/records.ts';
import { useTokenNames } from '../tokens/token-names.ts';
import { useArchives, useDeploymentWritten } from './deployment-queries.ts';
import { PlanView } from '../../components/plan-view.tsx';

/** A rollback is planned first: what changes, what is lost, where instances would go. */
function RollbackDialog({
  name,
  version,
  onClose,
}: {
  readonly name: string;
  readonly version: number;
  readonly onClose: () => void;
}) {
  const api = useApi();
  const written = useDeploymentWritten();
  const { done } = useToast();
  const [planned, setPlanned] = useState<DeploymentWritten>();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (dryRun: boolean) => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await api.call('POST /api/v1/deployments/{name}/rollback', {
        params: { name },
        body: { version },
        query: { dryRun: dryRun || undefined },
      });
      if (dryRun) setPlanned(answer);
      else {
        done(`${name} is rolled back to version ${version}.`);
        await written(name);
        onClose();
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      wide
      title={`Roll back to version ${version}`}
      note="Stores that version again as a new one; all rules are re-checked."
      isOpen
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {planned === undefined ? (
            <Button tone="primary" busy={isBusy} onClick={() => void send(true)}>
              Show what would change
            </Button>
          ) : (
            <Button tone="primary" busy={isBusy} onClick={() => void send(false)}>
              Roll back
            </Button>
          )}
        </>
      }
    >
      {planned === undefined ? (
        <p className="text-muted">First see what would change and where its instances would go.</p>
      ) : (
        <PlanView written={planned} />
      )}
      {error === undefined ? null : <ErrorNotice error={error} />}
    </Dialog>
  );
}

function Version({
  archive,
  by,
  before,
  isCurrent,
  onRollback,
}: {
  readonly archive: Archive;
  /** Who made it, by name. */
  readonly by: string;
  readonly before: Archive | undefined;
  readonly isCurrent: boolean;
  readonly onRollback: (() => void) | undefined;
}) {
  const [isOpen, setOpen] = useState(isCurrent);
  const changes = before === undefined ? [] : fieldDifferences(before.spec, archive.spec);
  return (
    <li className="border-b px-4 py-3 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <span className="w-10 font-semibold tabular-nums">v{archive.version}</span>
        <Badge tone={archive.change === 'rolled-back' ? 'warn' : 'none'}>{archive.change}</Badge>
        {isCurrent ? <Badge tone="ok">current</Badge> : null}
        <span className="order-last min-w-0 basis-full truncate text-xs text-muted sm:order-none sm:flex-1 sm:basis-auto">
          <TimeAgo time={archive.at} /> by <span title={archive.by}>{by}</span>
        </span>
        {before === undefined ? null : (
          <Button small tone="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide changes' : 'Show changes'}
          </Button>
        )}
        {isCurrent || onRollback === undefined ? null : (
          <Button small icon="undo" onClick={onRollback}>
            Roll back to v{archive.version}
          </Button>
        )}
      </div>
      {isOpen && before !== undefined ? (
        <div className="pt-3 sm:pl-14">
          <DiffView changes={changes} />
        </div>
      ) : null}
    </li>
  );
}

/** Every version with what it changed, newest first. */
export function HistoryPanel({ name }: { readonly name: string }) {
  const { can } = useSession();
  const { data, error } = useArchives(name);
  const names = useTokenNames();
  const [chosen, setChosen] = useState<number>();
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} />;
  const newest = data.at(-1)?.version;
  return (
    <Panel flush title="History" note="Every accepted change, newest first">
      <ul>
        {[...data].reverse().map((archive, at, all) => (
          <Version
            key={archive.version}
            archive={archive}
            by={actorText({ actor: archive.by }, names)}
            before={all[at + 1]}
            isCurrent={archive.version === newest}
            onRollback={can('deploy') ? () => setChosen(archive.version) : undefined}
          />
        ))}
      </ul>
      {chosen === undefined ? null : (
        <RollbackDialog name={name} version={chosen} onClose={() => setChosen(undefined)} />
      )}
    </Panel>
  );
}
