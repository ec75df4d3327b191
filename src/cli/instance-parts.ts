import { standingOf } from '../core/contract/instance-standing.ts';
import { instanceName } from '../core/model/instance-name.ts';
import { reasonOf } from '../core/model/reason.ts';
import { textOf } from './fields.ts';
import type { Part } from './progress.ts';
import type { Deployment } from './records.ts';

/** Beside the state of a container, `starting` would be taken for another one. */
const HEALTH: Readonly<Record<string, string>> = { starting: 'not healthy yet' };

/** The instances of a spec, as a wait shows them: what people call them, where they are, how they are, and why. */
export function instanceParts(record: Deployment, specHash: string): readonly Part[] {
  return (record.status?.instances ?? [])
    .filter((one) => textOf(one.specHash) === specHash && one.canary !== true)
    .map((one) => {
      const { state, health = '' } = standingOf(one);
      const isChecked = record.healthCheck !== undefined;
      const isWell = state === 'running' && (health === 'healthy' || (health === '' && !isChecked));
      const how = isWell ? health || state : [state, HEALTH[health] ?? health].filter(Boolean).join(', ');
      const why = isWell ? '' : reasonOf(textOf(one.message));
      return {
        name: `${instanceName(textOf(record.name), textOf(one.id))} on ${textOf(one.nodeId)}`,
        text: why === '' ? how : `${how}: ${why}`,
        isWell,
      };
    });
}
