import { asSent } from '../../core/alterations/as-sent.ts';
import { alterDeployment } from '../../core/alterations/deployment.ts';
import { type DeploymentDraft, deploymentBody } from '../../core/contract/deployment-body.ts';
import { checkBody } from '../../core/contract/shape.ts';
import type { Alteration } from '../../core/model/announcement.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { deploymentRules } from '../../core/rules/deployment.ts';
import { firstRejection, type Limits } from '../../core/rules/rule.ts';

export type Body = Readonly<Record<string, unknown>>;

/**
 * Shape and kind. A document of another kind is told so before its fields are held against ours: an unknown field
 * can only be judged once the kind is known.
 */
export function shapeRejection(body: unknown): Rejection | undefined {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) {
    const { kind } = body as { kind?: unknown };
    if (kind !== undefined && kind !== null && kind !== 'Deployment') {
      return reject('manifest_wrong_kind', {
        field: 'kind',
        received: received(kind),
        why: `This route takes documents of kind Deployment${kind === 'Job' ? '; send a Job to /api/v1/jobs' : ''}.`,
      });
    }
  }
  return checkBody(deploymentBody, body, { nullClears: true });
}

export interface AdmittedDraft {
  readonly draft: DeploymentDraft;
  readonly alterations: readonly Alteration[];
}

/** Alterations, then every rule that needs no I/O, in the documented order. */
export function admitDraft(
  draft: DeploymentDraft,
  body: Body,
  stored: { readonly secretsVersion: number; readonly view?: Readonly<Record<string, unknown>> },
  limits: Limits,
): AdmittedDraft | Rejection {
  const altered = alterDeployment({
    draft,
    body,
    storedSecretsVersion: stored.secretsVersion,
    ...(stored.view === undefined ? {} : { storedView: stored.view }),
  });
  const refused = firstRejection(deploymentRules, { draft: altered.draft, limits });
  return refused === undefined ? altered : asSent(refused, altered.alterations);
}
