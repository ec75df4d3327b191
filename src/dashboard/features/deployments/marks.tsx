import { Badge } from '../../components/badge.tsx';
import type { Deployment } from '../../lib/records.ts';

/** Names of the marks, as they are said. */
export function marksOf({ status }: Pick<Deployment, 'status'>): readonly string[] {
  const { canary, rotation } = status;
  return [...(canary === undefined ? [] : ['canary']), ...(rotation.next === 'stage' ? [] : ['rotating'])];
}

/** What is under way beside its phase: a canary, a rotation of its credentials. */
export function Marks({ deployment }: { readonly deployment: Pick<Deployment, 'status'> }) {
  return marksOf(deployment).map((mark) => (
    <Badge key={mark} tone="info">
      {mark}
    </Badge>
  ));
}
