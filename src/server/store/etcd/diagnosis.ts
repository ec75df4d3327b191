import { messageOf } from '../../../core/model/values.ts';
import type { KvStatus } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { METHODS } from './messages.ts';
import { ALARM, readAlarms } from './space.ts';

/** What is wrong, for an operator. The caller has just seen a linearizable read fail with `error`. */
async function describeFailure(cluster: EtcdCluster, error: unknown): Promise<string> {
  const message = messageOf(error);
  const { members } = cluster;
  const answers = await Promise.allSettled(
    members.map((member) => cluster.callMember(member, METHODS.status, {}, cluster.timeoutMs / 2)),
  );
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  if (found.length === 0) return message;
  // A member that has lost its quorum still answers questions about itself.
  if (found.every((status) => status.leader.toString() === '0')) {
    return `etcd has lost its quorum: ${found.length} of ${members.length} members answer and none leads (${message})`;
  }
  return message;
}

export async function readStatus(
  cluster: EtcdCluster,
  readHead: () => Promise<number>,
  onNoSpace: () => void,
): Promise<KvStatus> {
  try {
    await readHead();
    const alarms = await readAlarms(cluster);
    if (alarms.some(({ alarm }) => alarm === ALARM.corrupt)) {
      return {
        kind: 'etcd',
        connected: true,
        problem: 'etcd reports corrupt data on a member (CORRUPT alarm)',
      };
    }
    if (alarms.some(({ alarm }) => alarm === ALARM.noSpace)) {
      onNoSpace();
      return {
        kind: 'etcd',
        connected: true,
        problem:
          'etcd has no space left (NOSPACE alarm): writes are refused while history is compacted and members are ' +
          'defragmented; if this persists, raise --quota-backend-bytes',
      };
    }
    return { kind: 'etcd', connected: true };
  } catch (error) {
    return { kind: 'etcd', connected: false, problem: await describeFailure(cluster, error) };
  }
}
