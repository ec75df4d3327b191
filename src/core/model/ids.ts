/** Branded strings, so that one kind of id is never passed for another. */
type Brand<Name extends string> = string & { readonly __brand: Name };

export type TenantId = Brand<'TenantId'>;
export type TokenId = Brand<'TokenId'>;
export type DeploymentId = Brand<'DeploymentId'>;
export type InstanceId = Brand<'InstanceId'>;
export type JobId = Brand<'JobId'>;
export type VolumeId = Brand<'VolumeId'>;
/** A node's id is its name, unique platform-wide. */
export type NodeName = Brand<'NodeName'>;

export const ID_PREFIXES = {
  deployment: 'dep',
  instance: 'ins',
  volume: 'vol',
  token: 'tok',
  backup: 'bak',
  event: 'evt',
  audit: 'aud',
  join: 'join',
  run: 'run',
  job: 'job',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;
