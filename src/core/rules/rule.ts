import type { DeploymentDraft } from '../contract/deployment-body.ts';
import type { Region } from '../model/region.ts';
import type { SecretPolicy } from '../model/secret-limits.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** Limits and names that the configuration decides and the rules quote. */
export interface Limits {
  readonly maxReplicasPerDeployment: number;
  readonly reservedNames: readonly string[];
  readonly secretPolicy: SecretPolicy;
  readonly regions: readonly Region[];
  readonly volumesEnabled: boolean;
}

/** The merged and altered draft of a deployment, before it may become a record. */
export interface DeploymentInput {
  readonly draft: DeploymentDraft;
  readonly limits: Limits;
}

/** A rule needs no I/O and answers with a rejection or nothing. */
export type Rule<Input> = (input: Input) => Rejection | undefined;

export function firstRejection<Input>(rules: readonly Rule<Input>[], input: Input): Rejection | undefined {
  for (const rule of rules) {
    const rejection = rule(input);
    if (rejection) return rejection;
  }
  return undefined;
}
