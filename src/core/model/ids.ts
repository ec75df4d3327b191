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
/** The name under which a job's containers stand beside those of deployments (instances, claims, container name, alias). */
export type JobOwner = Brand<'JobOwner'>;

/** The only place where text becomes an id: its form was checked, or it was found among ids. */
const minted =
  <Id extends string>() =>
  (text: string): Id =>
    text as Id;

export const nodeName = minted<NodeName>();
export const tenantId = minted<TenantId>();
export const tokenId = minted<TokenId>();
export const instanceId = minted<InstanceId>();
/** For `jobOwner`. */
export const jobOwnerName = minted<JobOwner>();

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
  webhook: 'whk',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

interface BrandedIds {
  readonly deployment: DeploymentId;
  readonly instance: InstanceId;
  readonly volume: VolumeId;
  readonly job: JobId;
}

/** An id of the kind, just made. Those of tokens are written without the mark after the prefix, and become such then. */
export type NewId<K extends IdKind> = K extends keyof BrandedIds ? BrandedIds[K] : string;

export function newId<K extends IdKind>(kind: K, rest: string): NewId<K> {
  return `${ID_PREFIXES[kind]}_${rest}` as NewId<K>;
}
