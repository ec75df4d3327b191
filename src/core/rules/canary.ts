import type { CanaryDraft } from '../contract/canary-body.ts';
import { canonicalJson } from '../model/canonical.ts';
import type { DeploymentSpec } from '../model/deployment.ts';
import { labelledIngress, servedIngress } from '../model/ingress.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** The caller supplies `received`: a spec may hold material. */
function invalid(field: string, got: string, why: string, expected?: string): Rejection {
  return reject('canary_invalid', {
    field,
    received: got,
    why,
    ...(expected === undefined ? {} : { expected }),
  });
}

/** Exactly one of image and spec, and a number of instances; needs nothing that is stored. */
export function canaryDraftRejection(draft: CanaryDraft, maxReplicas: number): Rejection | undefined {
  const { image, spec, replicas = 1, weight = 0 } = draft;
  if (image === undefined && spec === undefined) {
    return invalid(
      'image',
      '(absent)',
      'A canary differs from the stable spec: it names an image or a spec.',
    );
  }
  if (image !== undefined && spec !== undefined) {
    return invalid(
      'image',
      received(image),
      'A canary names an image or a spec, not both; a spec has an image of its own.',
    );
  }
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > maxReplicas) {
    return invalid(
      'replicas',
      received(replicas),
      replicas > maxReplicas
        ? 'A canary has at most as many instances as a deployment (maxReplicasPerDeployment of this control plane).'
        : 'A canary has at least one instance.',
      `an integer from 1 to ${maxReplicas}`,
    );
  }
  if (!Number.isInteger(weight) || weight < 0 || weight > 100) {
    return invalid(
      'weight',
      received(weight),
      'The canary gets a share of new connections.',
      'percent, an integer from 0 to 100',
    );
  }
  return undefined;
}

function ingressRejection(
  field: string,
  stable: DeploymentSpec,
  canary: DeploymentSpec,
): Rejection | undefined {
  const [routed, other] = [labelledIngress(stable), labelledIngress(canary)];
  if (routed !== undefined && other !== undefined && routed.host !== other.host) {
    return invalid(
      `${field}[${canary.ingress?.indexOf(other) ?? 0}].host`,
      received(other.host),
      'Stable instances and canary share one router of the proxy; two rules for it would take the stable ones out of service.',
      routed.host,
    );
  }
  return canonicalJson(servedIngress(stable)) === canonicalJson(servedIngress(canary))
    ? undefined
    : invalid(
        field,
        received(canary.ingress),
        'Requests come to the address of the deployment, behind which are its stable instances and its canary: the ways in are those of the deployment.',
        'the ingress of the stable spec, or none: change it on the deployment',
      );
}

/** `field` is the one that chose the spec. */
export function canarySpecRejection(
  field: 'image' | 'spec',
  stable: DeploymentSpec,
  canary: DeploymentSpec,
  isSame: boolean,
): Rejection | undefined {
  const within = field === 'spec' ? 'spec.' : '';
  if (stable.replicas === 0) {
    return invalid(
      'name',
      canary.name,
      `${canary.name} is stopped: there is nothing a canary could run beside.`,
      'a deployment with replicas of 1 or more',
    );
  }
  if (canary.volumes?.some((mount) => !mount.readOnly)) {
    return invalid(
      `${within}volumes`,
      '(read-write)',
      'A read-write volume has one writer, and that is the stable instance.',
      'volumes that are mounted read-only',
    );
  }
  // Volumes are claimed under the name of the deployment, by its own spec: what only a canary mounts would be nobody's.
  const foreign = canary.volumes?.find(
    ({ volumeId }) => !stable.volumes?.some((mount) => mount.volumeId === volumeId),
  );
  if (foreign !== undefined) {
    return invalid(
      `${within}volumes`,
      foreign.volumeId,
      'A canary mounts no volume that the stable spec does not mount.',
      'volumes of the stable spec, mounted read-only',
    );
  }
  const ingress = ingressRejection(`${within}ingress`, stable, canary);
  if (ingress) return ingress;
  return isSame
    ? invalid(
        field,
        '(the stable spec)',
        'The containers of this canary would be those of the stable spec.',
        'something that differs from the stable spec',
      )
    : undefined;
}
