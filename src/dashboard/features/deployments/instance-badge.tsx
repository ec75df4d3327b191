import { type SeenInstance, standingOf } from '../../../core/contract/instance-standing.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import type { Instance } from '../../lib/records.ts';

type Seen = SeenInstance & { readonly wanted?: Instance['wanted'] };

function toneOf({ state, health, wanted, nodeStatus }: Seen): Tone {
  if (wanted === 'stop') return 'none';
  if (nodeStatus !== undefined) return 'warn';
  if (state === 'failed' || state === 'exited' || health === 'unhealthy') return 'bad';
  if (state === 'running') return health === 'starting' ? 'info' : 'ok';
  return state === 'unknown' ? 'warn' : 'info';
}

/** How an instance is: its health while it runs, and that nothing is known of it while its node does not answer. */
export function InstanceBadge({ instance }: { readonly instance: Seen }) {
  const { state, health } = standingOf(instance);
  return (
    <Badge tone={toneOf(instance)}>{state === 'running' && health !== undefined ? health : state}</Badge>
  );
}
