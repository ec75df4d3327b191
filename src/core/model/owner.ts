import { type JobOwner, jobOwnerName } from './ids.ts';

/** Plain text is taken for either; once it is known which of them it is, it is never taken for the other, nor for an owner of a job. */
type Flavour<Name extends string> = string & { readonly __brand?: Name };
export type DeploymentName = Flavour<'DeploymentName'>;
export type JobName = Flavour<'JobName'>;

/** Whose an instance, a kept spec or a claim is: as it is in keys, records and messages. */
export type OwnerName = DeploymentName | JobOwner;

export type Owner =
  | { readonly kind: 'deployment'; readonly name: DeploymentName }
  | { readonly kind: 'job'; readonly name: JobName };

/** A dot is in no deployment's name, so a job and a deployment may have the same name. */
const JOB = 'job.';

export function jobOwner(job: JobName): JobOwner {
  return jobOwnerName(`${JOB}${job}`);
}

export function isOfDeployment(owner: OwnerName): owner is DeploymentName {
  return !owner.startsWith(JOB);
}

/** The only place where an owner's name is taken apart. */
export function ownerOf(owner: OwnerName): Owner {
  return isOfDeployment(owner)
    ? { kind: 'deployment', name: owner }
    : { kind: 'job', name: owner.slice(JOB.length) };
}

export function describeOwner(owner: OwnerName): string {
  const { kind, name } = ownerOf(owner);
  return kind === 'job' ? `the job ${name}` : name;
}

/** As answers name it. */
export type OwnerField = { readonly deployment: DeploymentName } | { readonly job: JobName };
export function ownerField(owner: OwnerName): OwnerField {
  const { kind, name } = ownerOf(owner);
  return kind === 'job' ? { job: name } : { deployment: name };
}
