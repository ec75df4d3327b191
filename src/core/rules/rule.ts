import type { DeploymentDraft } from '../contract/deployment-body.ts';
import type { Region } from '../model/region.ts';
import type { SecretPolicy } from '../model/secret-limits.ts';
import type { RejectionCode } from '../rejections/catalogue.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** Limits and names that the configuration decides and the rules quote. */
export interface Limits {
  readonly maxReplicasPerDeployment: number;
  readonly reservedNames: readonly string[];
  readonly secretPolicy: SecretPolicy;
  readonly regions: readonly Region[];
  readonly volumesEnabled: boolean;
}

export type DeploymentField = keyof DeploymentDraft;

/** The fields that a write is judged by; absent: all of them. See docs/request-path.md. */
export type Judged = ReadonlySet<DeploymentField>;

/** The merged and altered draft of a deployment, before it may become a record. */
export interface DeploymentInput {
  readonly draft: DeploymentDraft;
  readonly limits: Limits;
  readonly judged?: Judged | undefined;
}

/** A rule needs no I/O and answers with a rejection or nothing. */
export type Rule<Input> = (input: Input) => Rejection | undefined;

export function isJudged(judged: Judged | undefined, fields: readonly DeploymentField[]): boolean {
  return judged === undefined || fields.some((field) => judged.has(field));
}

/** A rule with the fields that it reads: an update that sends none of them is not judged by it. */
export function reading(
  fields: readonly DeploymentField[],
  rule: Rule<DeploymentInput>,
): Rule<DeploymentInput> {
  return (input) => (isJudged(input.judged, fields) ? rule(input) : undefined);
}

/** What was sent, said in the words of a rule. */
export function invalid(
  code: RejectionCode,
  field: string,
  value: unknown,
  expected: string,
  why: string,
): Rejection {
  return reject(code, { field, received: received(value), expected, why });
}

/** The first refusal in the order of the list. */
export function firstRejection<Args extends readonly unknown[]>(
  rules: readonly ((...args: Args) => Rejection | undefined)[],
  ...args: Args
): Rejection | undefined {
  for (const rule of rules) {
    const rejection = rule(...args);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}
