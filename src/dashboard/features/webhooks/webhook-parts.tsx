import { Badge, type Tone } from '../../components/badge.tsx';
import { reasonFirst } from '../../lib/reason-first.ts';
import type { Webhook } from './webhook-queries.ts';

const STATES: Readonly<Record<Webhook['status']['state'], Tone>> = {
  active: 'ok',
  failing: 'bad',
  gone: 'bad',
  paused: 'none',
};

export function WebhookBadge({ webhook }: { readonly webhook: Webhook }) {
  const { state } = webhook.status;
  return <Badge tone={STATES[state]}>{state}</Badge>;
}

/** Why it does not send what there is; nothing of one that does. */
export function troubleOf({ status }: Webhook): string | undefined {
  const reason = status.lastFailure?.reason;
  return status.state === 'active' || reason === undefined ? undefined : reasonFirst(reason);
}

/** Which events, in words. */
export function filterText({ events }: Webhook): string {
  const { kinds = [], subjects = [] } = events;
  const about = subjects.length === 0 ? '' : ` about ${subjects.join(', ')}`;
  return kinds.length === 0 ? `all events${about}` : `${kinds.join(', ')}${about}`;
}
