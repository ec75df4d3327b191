import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take half a minute and more, longest first. A clean checkout has no durations of an earlier run, and the size of a file says
 * little: a long one that begins last keeps one core busy while the others have nothing left to do.
 */
const LONG: readonly string[] = [
  'test/system/dashboard-records.test.ts',
  'test/system/dashboard-safety.test.ts',
  'test/faults/promises-1.test.ts',
  'test/faults/promises-2.test.ts',
  'test/system/dashboard-deployments.test.ts',
  'test/system/dashboard-rotation.test.ts',
  'test/faults/promises-planted.test.ts',
  'test/faults/credential-faults.test.ts',
  'test/faults/credential-kills.test.ts',
  'test/faults/kill.test.ts',
  'test/faults/crash-points.test.ts',
  'test/faults/simulation.test.ts',
  'test/faults/planted-bugs.test.ts',
  'test/faults/kill-etcd.test.ts',
  'test/faults/linearizability.test.ts',
  'test/faults/linearizability-etcd.test.ts',
  'test/conformance/codes.test.ts',
  'test/conformance/rotation.test.ts',
  'test/system/guide.test.ts',
  'test/system/cluster-faults.test.ts',
  'test/system/cli.test.ts',
  'test/system/cluster-jobs.test.ts',
  'test/system/volumes-failover.test.ts',
  'test/system/several-volumes.test.ts',
  'test/system/agent-crash-points.test.ts',
  'test/system/agent-faults.test.ts',
  'test/system/agent-volumes.test.ts',
  'test/system/several-planes.test.ts',
  'test/system/several-etcd.test.ts',
  'test/system/rotation-postgres.test.ts',
  'test/system/packaging.test.ts',
  'test/system/cluster-networks.test.ts',
  'test/suites/kv-sqlite.test.ts',
  'test/suites/kv-etcd-faults.test.ts',
  'test/suites/volumes.test.ts',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at === -1 ? LONG.length : at;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
