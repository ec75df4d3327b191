import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take a quarter of a minute and more in a whole run, longest first. A clean checkout has no durations of an earlier run, and the size of a file says
 * little: a long one that begins last keeps one core busy while the others have nothing left to do.
 */
const LONG: readonly string[] = [
  'test/system/guide.test.ts',
  'test/system/dashboard-records.test.ts',
  'test/system/cli.test.ts',
  'test/system/dashboard-deployments.test.ts',
  'test/system/cluster-faults.test.ts',
  'test/system/dashboard-safety.test.ts',
  'test/suites/volumes.test.ts',
  'test/system/mesh-updates.test.ts',
  'test/system/guide-images.test.ts',
  'test/system/terminal.test.ts',
  'test/system/several-agents.test.ts',
  'test/security/full-store.test.ts',
  'test/system/agent-volumes.test.ts',
  'test/system/cluster-jobs.test.ts',
  'test/system/volumes-switchover.test.ts',
  'test/suites/kv-sqlite.test.ts',
  'test/system/mesh-paths.test.ts',
  'test/system/quickstart.test.ts',
  'test/system/mesh.test.ts',
  'test/system/examples.test.ts',
  'test/system/cluster-rollout.test.ts',
  'test/system/cluster-silence.test.ts',
  'test/system/packaging.test.ts',
  'test/system/engine.test.ts',
  'test/system/ingress.test.ts',
  'test/system/volumes-failover.test.ts',
  'test/system/agent-faults.test.ts',
  'test/suites/kv-etcd-faults.test.ts',
  'test/system/cluster-changes.test.ts',
  'test/faults/crash-points.test.ts',
  'test/system/agent.test.ts',
  'test/system/several-planes.test.ts',
  'test/security/cost-fuzz.test.ts',
  'test/system/several-seams.test.ts',
  'test/flow/credentials.test.ts',
  'test/system/node-add.test.ts',
  'test/system/rotation-postgres.test.ts',
  'test/conformance/hostile.test.ts',
  'test/faults/linearizability-etcd.test.ts',
  'test/system/cluster-secrets.test.ts',
  'test/conformance/codes.test.ts',
  'test/faults/promises-2.test.ts',
  'test/system/several-etcd.test.ts',
  'test/suites/kv-local.test.ts',
  'test/system/cluster-private.test.ts',
  'test/system/cluster-logs.test.ts',
  'test/system/cluster-scaling.test.ts',
  'test/system/cli-bad-input.test.ts',
  'test/system/cluster-vault.test.ts',
  'test/system/rollout-reasons.test.ts',
  'test/faults/promises-planted.test.ts',
  'test/system/cluster-health.test.ts',
  'test/system/clock-jumps.test.ts',
  'test/system/agent-crash-points.test.ts',
  'test/system/offline-reboot.test.ts',
  'test/system/cluster-life.test.ts',
  'test/system/older-store.test.ts',
  'test/system/agent-podman.test.ts',
  'test/system/dashboard-rotation.test.ts',
  'test/faults/event-stream.test.ts',
  'test/security/network-access.test.ts',
  'test/security/between-tenants.test.ts',
  'test/system/several-layouts.test.ts',
  'test/system/etcd-limits.test.ts',
  'test/system/dashboard.test.ts',
  'test/system/doctor.test.ts',
  'test/system/cluster-tenants.test.ts',
  'test/system/reconnect-storm.test.ts',
  'test/faults/promises-1.test.ts',
  'test/flow/plan.test.ts',
  'test/faults/kill.test.ts',
  'test/system/cli-jobs.test.ts',
  'test/system/cli-volumes.test.ts',
  'test/system/with-packages.test.ts',
  'test/system/several-tls.test.ts',
  'test/suites/kv-etcd.test.ts',
  'test/flow/jobs.test.ts',
  'test/system/several-compaction.test.ts',
  'test/faults/simulation.test.ts',
  'test/system/agent-binds.test.ts',
  'test/flow/vault.test.ts',
  'test/flow/rollback.test.ts',
  'test/system/cluster-images.test.ts',
  'test/faults/planted-bugs.test.ts',
  'test/faults/plane-crash-points.test.ts',
  'test/system/recovery.test.ts',
  'test/security/large-assignment.test.ts',
  'test/system/engine-docker.test.ts',
  'test/security/agent-floods.test.ts',
  'test/system/agent-streams.test.ts',
  'test/flow/secret-documents.test.ts',
];

/** Those that share processes come last and together: a process is kept for the next file only while that is one of them too. */
function rank({ moduleId, project }: TestSpecification): number {
  const at = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  const among = at === -1 ? LONG.length : at;
  return project.config.isolate ? among : among + LONG.length + 1;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
