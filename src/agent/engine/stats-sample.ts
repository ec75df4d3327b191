import type { StatsSample } from './engine.ts';
import { optional } from '../../core/model/values.ts';
import { fields, number, text } from './fields.ts';

/** From `GET /containers/{id}/stats`. Undefined for the zeroes that Docker sends of a container that does not run. */
export function statsSample(value: unknown): StatsSample | undefined {
  const top = fields(value);
  const cpu = fields(top['cpu_stats']);
  const memory = fields(top['memory_stats']);
  const used = number(memory['usage']);
  const atMs = Date.parse(text(top['read']) ?? '');
  if (used === undefined || Number.isNaN(atMs) || atMs <= 0) return undefined;
  const detail = fields(memory['stats']);
  // The page cache that the kernel can drop is no use of memory: cgroup v1 and v2 name it differently.
  const cache = number(detail['total_inactive_file']) ?? number(detail['inactive_file']) ?? 0;
  const network = traffic(fields(top['networks']));
  return {
    atMs,
    cpuNs: number(fields(cpu['cpu_usage'])['total_usage']) ?? 0,
    ...optional('systemCpuNs', number(cpu['system_cpu_usage'])),
    memoryBytes: Math.max(0, used - cache),
    memoryLimitBytes: number(memory['limit']) ?? 0,
    ...optional('network', network),
  };
}

/** Docker and Podman have an entry per interface of the container, and none where it uses the host's. */
function traffic(interfaces: ReturnType<typeof fields>): StatsSample['network'] {
  const each = Object.values(interfaces).map(fields);
  if (each.length === 0) return undefined;
  const sum = (name: string): number => each.reduce((total, one) => total + (number(one[name]) ?? 0), 0);
  return { receivedBytes: sum('rx_bytes'), sentBytes: sum('tx_bytes') };
}
