import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import {
  commandArgumentsRule,
  composedLiteralsRule,
  environmentRule,
  healthCheckArgumentsRule,
} from './environment.ts';
import { accessRule, networksRule } from './attachment.ts';
import { capabilitiesRule, userRule } from './confinement.ts';
import { healthCheckRule } from './health-check.ts';
import { filesRule } from './files.ts';
import { imageRule } from './image.ts';
import { nameRule } from './name.ts';
import { placementRules } from './placement.ts';
import { replicasRule } from './replicas.ts';
import { type DeploymentInput, type Rule, reading } from './rule.ts';
import { sizesRule } from './sizes.ts';
import { secretRules } from './secrets/list.ts';
import { volumeMountsRule } from './volumes.ts';
import { commandRule } from './command.ts';
import { dependsOnRule } from './depends-on.ts';
import { ingressRule } from './ingress.ts';
import { portsRule } from './ports.ts';
import { resourcesRule } from './resources.ts';
import { stopRule } from './stop.ts';
import { updateRule } from './update.ts';

function secretsVersionRule({ draft }: DeploymentInput) {
  const version = draft.secretsVersion;
  if (version === undefined || version >= 0) return undefined;
  return reject('secrets_version_negative', {
    field: 'secretsVersion',
    received: received(version),
    why: 'secretsVersion counts rotations; it is 0 on a new spec and only the rotation operation raises it.',
  });
}

/** Of a deployment's or job's own list of secrets. */
export const workloadSecretRules: readonly Rule<DeploymentInput>[] = secretRules.map(({ reads, rule }) =>
  reading(reads, ({ draft, limits }) => rule(draft, limits.secretPolicy)),
);

/**
 * Every rule of a deployment that needs no stored state, in the documented order: the first rejection
 * wins. Shape and kind are checked before, by the decoder.
 */
export const deploymentRules: readonly Rule<DeploymentInput>[] = [
  reading(['name'], ({ draft, limits }) => nameRule(draft.name, limits.reservedNames)),
  reading(['image'], imageRule),
  reading(['replicas'], replicasRule),
  sizesRule,
  reading(['command'], commandRule),
  reading(['user'], userRule),
  reading(['capabilities'], capabilitiesRule),
  reading(['stop'], stopRule),
  reading(['healthCheck'], healthCheckRule),
  reading(['command'], commandArgumentsRule),
  reading(['healthCheck'], healthCheckArgumentsRule),
  reading(['environment'], environmentRule),
  reading(['files', 'volumes'], filesRule),
  ...workloadSecretRules,
  reading(['composedEnvironment'], composedLiteralsRule),
  reading(['secretsVersion'], secretsVersionRule),
  reading(['volumes'], volumeMountsRule),
  ...placementRules,
  reading(['resources'], resourcesRule),
  reading(['dependsOn'], dependsOnRule),
  reading(['ports'], portsRule),
  reading(['ingress'], ingressRule),
  reading(['networks'], networksRule),
  reading(['access', 'networks', 'ingress'], accessRule),
  reading(['update'], updateRule),
];
