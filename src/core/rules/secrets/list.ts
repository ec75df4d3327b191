import type { SecretBearingDraft } from '../../contract/secret-draft.ts';
import type { DeploymentSpec } from '../../model/deployment.ts';
import type { DeploymentField } from '../rule.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import type { VolumeType } from '../../model/volume.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { checkAnchoredKept, checkAnchorVolumeKept } from './anchored.ts';
import { checkCollisions, type KnownKeys } from './collision.ts';
import { checkComposed } from './compose.ts';
import { checkAnchorsDeclared, checkEntries, checkEntryCount } from './entry.ts';
import { checkSplitAcross } from './path.ts';

export type SecretRule = (draft: SecretBearingDraft, policy: SecretPolicy) => Rejection | undefined;

/** Rules of a deployment's or job's secrets that need no facts, in order; secrets before composedEnvironment. */
export const secretRules: readonly {
  readonly reads: readonly DeploymentField[];
  readonly rule: SecretRule;
}[] = [
  { reads: ['secrets'], rule: checkEntryCount },
  { reads: ['secrets'], rule: checkEntries },
  // A list of volumes that is sent alone touches the anchors and nothing else of the secrets.
  { reads: ['volumes'], rule: checkAnchorsDeclared },
  { reads: ['secrets', 'composedEnvironment'], rule: checkComposed },
  { reads: ['environment', 'secrets', 'composedEnvironment'], rule: (draft) => checkCollisions(draft) },
];

/** What the tenant's stored state says about the draft. */
export interface SecretFacts {
  /** Label → namespace it is referenced or stored under elsewhere in the tenant. */
  readonly namespaceOf: ReadonlyMap<string, string>;
  readonly volumeTypeOf: ReadonlyMap<string, VolumeType>;
  readonly knownKeys: KnownKeys;
  /** The stored spec and the one that would replace it; absent on create. */
  readonly update?: {
    readonly previous: Pick<DeploymentSpec, 'secrets' | 'volumes'>;
    readonly next: Pick<DeploymentSpec, 'secrets' | 'volumes'>;
  };
}

export type StatefulSecretRule = (draft: SecretBearingDraft, facts: SecretFacts) => Rejection | undefined;

/** Rules that need facts, in order; they come after every rule that needs none. */
export const statefulSecretRules: readonly StatefulSecretRule[] = [
  (draft, facts) => checkSplitAcross(draft, facts.namespaceOf),
  (draft, facts) => checkAnchorVolumeKept(draft, facts.volumeTypeOf),
  (_draft, facts) =>
    facts.update === undefined ? undefined : checkAnchoredKept(facts.update.previous, facts.update.next),
  (draft, facts) => checkCollisions(draft, facts.knownKeys),
];
