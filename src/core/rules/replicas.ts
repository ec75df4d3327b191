import { isIntegerWithin } from '../model/values.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { DeploymentInput } from './rule.ts';

/** A negative integer has its own code; everything else that is not in range shares one. */
export function replicasRule({ draft, limits }: DeploymentInput) {
  const { replicas } = draft;
  const maximum = limits.maxReplicasPerDeployment;
  if (isIntegerWithin(replicas, -Number.MAX_VALUE, -1) || replicas === Number.NEGATIVE_INFINITY) {
    return reject('replicas_negative', {
      field: 'replicas',
      received: received(replicas),
      expected: `integer from 0 to ${maximum}`,
      why: 'replicas is below 0; 0 stops the deployment without deleting it.',
    });
  }
  if (!isIntegerWithin(replicas, 0, maximum)) {
    return reject('replicas_out_of_range', {
      field: 'replicas',
      received: received(replicas),
      expected: `integer from 0 to ${maximum}`,
      // Texts are shown bare: "1" and 1 look the same.
      why: `replicas must be an integer from 0 to ${maximum} (maxReplicasPerDeployment of this control plane)${typeof replicas === 'string' ? ', not a text' : ''}.`,
    });
  }
  return undefined;
}
