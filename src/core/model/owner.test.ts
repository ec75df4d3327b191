import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idOf, prefixOf, segmentsOf } from '../../server/store/record-ids.ts';
import type { DeploymentSpec } from './deployment.ts';
import type { InstanceRecord } from './instance.ts';
import { jobWorkload } from './job.ts';
import { type DeploymentName, isOfDeployment, type JobName, jobOwner, ownerField, ownerOf } from './owner.ts';

describe('the owner of an instance', () => {
  it('comes back as it was, of a deployment and of a job of the same name', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,62}$/);
    fc.assert(
      fc.property(name, (text) => {
        expect(ownerOf(jobOwner(text))).toEqual({ kind: 'job', name: text });
        expect(ownerOf(text)).toEqual({ kind: 'deployment', name: text });
        expect([isOfDeployment(text), isOfDeployment(jobOwner(text))]).toEqual([true, false]);
      }),
    );
  });

  it('is spelled in keys as it always was', () => {
    expect(idOf('instances', jobOwner('dump'), 'ins_1')).toBe('job.dump/ins_1');
    expect(idOf('instances', 'dump', 'ins_1')).toBe('dump/ins_1');
    const [owner] = segmentsOf('instances', 'job.dump/ins_1');
    expect(ownerField(owner)).toEqual({ job: 'dump' });
    expect(ownerField('dump')).toEqual({ deployment: 'dump' });
  });

  it('of a job is taken for no deployment, and a name of either for no other', () => {
    const owner = jobOwner('dump');
    const job: JobName = ownerOf(owner).kind === 'job' ? 'dump' : '';
    const record: Pick<InstanceRecord, 'deployment'> = { deployment: owner };
    const workload = jobWorkload({ kind: 'Job', name: 'dump', image: 'a:1', secrets: [] });
    // @ts-expect-error an owner of a job is no deployment's name
    idOf('deployments', owner);
    // @ts-expect-error nor is it the job's own
    idOf('jobs', owner);
    // @ts-expect-error whose an instance is has to be asked before a deployment is looked for
    idOf('deployments', record.deployment);
    // @ts-expect-error nor is it a job's before it was asked
    idOf('jobs', record.deployment);
    // @ts-expect-error what a job owns does not stand under the job's name
    prefixOf('instances', job as JobName & { readonly __brand: 'JobName' });
    // @ts-expect-error a job's name is encoded once
    jobOwner(owner);
    // @ts-expect-error a job's workload is no deployment
    const spec: DeploymentSpec = workload;
    // @ts-expect-error a job's workload has no canary
    idOf('canaries', workload.name);
    const found = ownerOf(record.deployment);
    // @ts-expect-error either may be there
    const name: DeploymentName = found.name;
    expect([spec.name, name]).toEqual(['job.dump', 'dump']);
    if (found.kind === 'deployment') idOf('deployments', found.name);
    else idOf('jobs', found.name);
  });
});
