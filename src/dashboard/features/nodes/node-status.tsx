import { Badge } from '../../components/badge.tsx';
import type { Node } from '../../lib/records.ts';

/** State of a node as one label: silent, going, held, or taking work. */
export function NodeBadge({ node }: { readonly node: Node }) {
  if (node.status === 'failed') return <Badge tone="bad">failed</Badge>;
  if (node.draining) return <Badge tone="warn">draining</Badge>;
  if (!node.schedulable) return <Badge tone="warn">cordoned</Badge>;
  return <Badge tone="ok">ready</Badge>;
}

export function urgency({ status, schedulable }: Node): number {
  return status === 'failed' ? 0 : schedulable ? 2 : 1;
}
