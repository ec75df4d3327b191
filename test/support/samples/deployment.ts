import type { DeploymentDraft } from '../../../src/core/contract/deployment-body.ts';
import { DEFAULT_SECRET_POLICY } from '../../../src/core/model/secret-limits.ts';
import type { Limits } from '../../../src/core/rules/rule.ts';

/** Input of the rules' tests: limits as configured by default, and a draft that every rule accepts. */
export const limits: Limits = {
  maxReplicasPerDeployment: 100,
  reservedNames: ['etcd', 'berth-etcd'],
  secretPolicy: DEFAULT_SECRET_POLICY,
  regions: [
    { name: 'eu', countries: ['DE', 'FR'] },
    { name: 'uk', countries: ['GB'] },
  ],
  volumesEnabled: true,
};

export const sampleDraft: DeploymentDraft = {
  kind: 'Deployment',
  name: 'web',
  image: 'registry.internal:5000/shop/web:1.4.2',
  replicas: 2,
  secrets: [],
  secretsVersion: 0,
};
