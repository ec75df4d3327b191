import { Badge, type Tone } from '../../components/badge.tsx';
import type { Instance } from '../../lib/records.ts';

type Seen = Pick<Instance, 'state' | 'health' | 'wanted'>;

function toneOf({ state, health, wanted }: Seen): Tone {
  if (wanted === 'stop') return 'none';
  if (state === 'failed' || state === 'exited' || health === 'unhealthy') return 'bad';
  if (state === 'running') return health === 'starting' ? 'info' : 'ok';
  return state === 'unknown' ? 'warn' : 'info';
}

/** How an instance is: its health while it runs. */
export function InstanceBadge({ instance }: { readonly instance: Seen }) {
  const { state, health } = instance;
  return (
    <Badge tone={toneOf(instance)}>{state === 'running' && health !== undefined ? health : state}</Badge>
  );
}
