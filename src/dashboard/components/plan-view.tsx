import type { ReactNode } from 'react';
import { Badge, type Tone } from './badge.tsx';
import { DiffView } from './diff-view.tsx';
import { Icon, type IconName } from './icon.tsx';
import type { DeploymentWritten, PlacementPlan } from '../lib/records.ts';

function Part({
  title,
  icon,
  tone = 'text-muted',
  children,
}: {
  readonly title: string;
  readonly icon: IconName;
  readonly tone?: string;
  readonly children: ReactNode;
}) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h3 className={`flex items-center gap-2 font-medium ${tone}`}>
        <Icon name={icon} className="size-4" />
        {title}
      </h3>
      <div className="pl-6">{children}</div>
    </section>
  );
}

/** Instances that would go to the same node for the same reason are one line. */
function chosenNodes({
  instances,
}: PlacementPlan): readonly { readonly node: string; readonly why: string; readonly times: number }[] {
  const found = new Map<string, { node: string; why: string; times: number }>();
  for (const { node, why } of instances) {
    const known = found.get(node);
    if (known === undefined) found.set(node, { node, why, times: 1 });
    else known.times += 1;
  }
  return [...found.values()];
}

function Placement({ plan }: { readonly plan: PlacementPlan }) {
  const { unplaced, waitingFor } = plan;
  const chosen = chosenNodes(plan);
  return (
    <div className="flex flex-col gap-2">
      {chosen.length === 0 && unplaced === undefined ? (
        <p className="text-muted">No new instance is needed.</p>
      ) : null}
      <ul className="flex flex-col gap-1">
        {chosen.map(({ node, why, times }) => (
          <li key={node}>
            <span className="font-medium">{node}</span>
            {times > 1 ? <span className="text-muted"> × {times}</span> : null}
            <span className="block text-xs text-muted">{why}</span>
          </li>
        ))}
      </ul>
      {unplaced === undefined ? null : (
        <div className="rounded-md border border-warn/30 bg-warn-soft px-3 py-2">
          <p className="font-medium text-warn">
            {unplaced.count} without a place: {unplaced.summary}
          </p>
          <ul className="mt-1 text-xs">
            {unplaced.nodes.map(({ node, reasons }) => (
              <li key={node}>
                <span className="font-medium">{node}</span>{' '}
                {reasons.map(({ message }) => message).join('; ') || 'fits'}
              </li>
            ))}
          </ul>
        </div>
      )}
      {waitingFor.map((gate) => (
        <p key={gate} className="text-warn">
          Waits: {gate}
        </p>
      ))}
    </div>
  );
}

type Action = PlacementPlan['actions'][number];

const ACTIONS: Readonly<Record<Action['action'], { readonly words: string; readonly tone: Tone }>> = {
  replace: { words: 'replaced', tone: 'info' },
  stop: { words: 'stopped', tone: 'bad' },
  create: { words: 'created', tone: 'ok' },
  keep: { words: 'left alone', tone: 'none' },
};
const MAX_LISTED = 10;

function whereText({ action, instance, node, to }: Action): string {
  const here = instance === undefined ? 'a new one' : `${instance} on ${node ?? ''}`;
  if (action === 'keep' || action === 'stop') return here;
  return `${here} → ${to ?? 'no node takes it yet'}`;
}

/** What happens to each instance: those with one reason together. */
function Actions({ actions }: Pick<PlacementPlan, 'actions'>) {
  const groups = Map.groupBy(actions, ({ action, how, why }) => JSON.stringify([action, how, why]));
  return (
    <ul className="flex flex-col gap-2">
      {[...groups].map(([key, group]) => {
        const [first] = group;
        if (first === undefined) return null;
        const { words, tone } = ACTIONS[first.action];
        return (
          <li key={key}>
            <Badge tone={tone}>
              {group.length} {words}
            </Badge>{' '}
            {first.why}
            {first.how === 'stop-first' ? '; each stops before its successor starts' : null}
            <ul className="font-mono text-xs text-muted">
              {group.slice(0, MAX_LISTED).map((one, at) => (
                <li key={one.instance ?? at}>{whereText(one)}</li>
              ))}
              {group.length > MAX_LISTED ? <li>and {group.length - MAX_LISTED} more</li> : null}
            </ul>
          </li>
        );
      })}
    </ul>
  );
}

/** What an answer to a dry run says of it. */
export type Planned = Pick<DeploymentWritten, 'plan' | 'alterations' | 'warnings' | 'removed'>;

/** What saving would do: fields that change, entries that are lost, what the server fills in, and where instances go and why. */
export function PlanView({ written }: { readonly written: Planned }) {
  const { plan, alterations, warnings, removed } = written;
  return (
    <div className="flex flex-col gap-4" data-plan="">
      {removed.length === 0 ? null : (
        <Part title="Removed" icon="warning" tone="text-bad">
          <ul className="font-mono text-xs">
            {removed.map((entry) => (
              <li key={entry}>{entry}</li>
            ))}
          </ul>
        </Part>
      )}
      {plan?.diff === undefined ? null : (
        <Part title="Changes" icon="pencil">
          <DiffView changes={plan.diff} />
        </Part>
      )}
      {plan === undefined || plan.actions.every(({ instance }) => instance === undefined) ? null : (
        <Part title="Instances" icon="layers">
          <Actions actions={plan.actions} />
        </Part>
      )}
      {plan === undefined ? null : (
        <Part title="Placement" icon="server">
          <Placement plan={plan} />
        </Part>
      )}
      {warnings.length === 0 ? null : (
        <Part title="Warnings" icon="warning" tone="text-warn">
          <ul className="flex flex-col gap-1 text-xs">
            {warnings.map(({ code, field, why }) => (
              <li key={`${code} ${field}`}>
                <code className="font-mono">{code}</code> at <code className="font-mono">{field}</code>: {why}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {alterations.length === 0 ? null : (
        <Part title="Filled in by the control plane" icon="info">
          <ul className="flex flex-col gap-1 text-xs">
            {alterations.map(({ field, to, why }) => (
              <li key={field}>
                <code className="font-mono">{field}</code> = <code className="font-mono">{to}</code>
                <span className="text-muted"> {why}</span>
              </li>
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
}
