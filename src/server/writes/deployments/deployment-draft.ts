import type { deployment } from '../../../core/contract/answers/deployment.ts';
import type { Answer } from '../../../core/schema/shape.ts';
import { asSent } from '../../../core/alterations/as-sent.ts';
import { alterDeployment } from '../../../core/alterations/deployment.ts';
import type { VolumeIdOf } from '../../../core/alterations/volume-names.ts';
import {
  type DeploymentDraft,
  deploymentBody,
  type SentDeployment,
} from '../../../core/contract/deployment-body.ts';
import { judgedFields } from '../../../core/contract/deployment-merge.ts';
import { readBody } from '../../../core/schema/shape.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { isRecord } from '../../../core/model/values.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Announced } from '../../../core/rules/attachment-facts.ts';
import { deploymentRules } from '../../../core/rules/deployment.ts';
import { healthCheckTypeRule } from '../../../core/rules/health-check.ts';
import { firstRejection, type Judged, type Limits } from '../../../core/rules/rule.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Caller } from '../admission.ts';

/**
 * Shape and kind. A document of another kind is refused as such before its fields are checked: an unknown field
 * can only be judged once the kind is known.
 */
export function readDeployment(body: unknown): SentDeployment | Rejection {
  const kind = isRecord(body) ? body['kind'] : undefined;
  if (kind !== undefined && kind !== null && kind !== 'Deployment') {
    return reject('manifest_wrong_kind', {
      field: 'kind',
      received: received(kind),
      why: `This route takes documents of kind Deployment${kind === 'Job' ? '; send a Job to /api/v1/jobs' : ''}.`,
    });
  }
  const sent = readBody(deploymentBody, body);
  return isRejection(sent) ? (healthCheckTypeRejection(body, sent) ?? sent) : sent;
}

/** Fields of a health check depend on its type, so that a wrong type is refused before a field that only it would have. */
function healthCheckTypeRejection(body: unknown, { field }: Rejection): Rejection | undefined {
  if (!field.startsWith('healthCheck.')) return undefined;
  const healthCheck = isRecord(body) ? body['healthCheck'] : undefined;
  return isRecord(healthCheck) && Object.hasOwn(healthCheck, 'type')
    ? healthCheckTypeRule(healthCheck['type'])
    : undefined;
}

/** Of a deployment that is to be created. */
export function existingRejection({ tenant }: Caller, name: string): Rejection | undefined {
  if (tenant.get('deployments', idOf('deployments', name)) === undefined) return undefined;
  return reject('deployment_already_exists', {
    field: 'name',
    received: received(name),
    why: 'The tenant already has a deployment of this name; change it with PUT.',
  });
}

export interface AdmittedDraft {
  readonly draft: DeploymentDraft;
  readonly alterations: readonly Alteration[];
  /** Of an update: the fields that it is judged by; absent: all of them. */
  readonly judged?: Judged;
  readonly isAnnounced?: Announced;
}

/** Alterations, then every rule that needs no I/O, in the documented order. */
export function admitDraft(
  draft: DeploymentDraft,
  body: SentDeployment,
  stored: {
    readonly secretsVersion: number;
    readonly view?: Answer<typeof deployment>;
    /** What an update changes: fields that it does not send are not judged again. */
    readonly spec?: DeploymentSpec;
  },
  limits: Limits,
  volumeIdOf?: VolumeIdOf,
): AdmittedDraft | Rejection {
  const altered = alterDeployment({
    draft,
    body,
    storedSecretsVersion: stored.secretsVersion,
    ...(stored.view === undefined ? {} : { storedView: stored.view }),
    ...(volumeIdOf && { volumeIdOf }),
  });
  const judged = stored.spec === undefined ? undefined : judgedFields(stored.spec, body, altered.draft);
  const refused = firstRejection(deploymentRules, { draft: altered.draft, limits, judged });
  if (refused !== undefined) return asSent(refused, altered.alterations, body);
  return judged === undefined ? altered : { ...altered, judged };
}
