import { formatBytes } from '../../model/quantity.ts';
import { bytesApart, cores } from '../amounts.ts';
import { freeCpuMicros, freeMemoryBytes, type NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';
import type { Filter } from './filter.ts';

/** Free = reported capacity minus the requests of what is placed; a request is never split. */
export const capacity: Filter = {
  name: 'capacity',
  scope: 'amounts',
  steady: false,
  admits: (state, { amounts }) =>
    amounts.cpuMicros <= freeCpuMicros(state) && amounts.memoryBytes <= freeMemoryBytes(state),
  required: ({ amounts }) => `${cores(amounts.cpuMicros)}, ${formatBytes(amounts.memoryBytes)}`,
  reported: (state) =>
    `${cores(freeCpuMicros(state))} free of ${cores(state.capacity.cpuMicros)}, ${formatBytes(freeMemoryBytes(state))} free of ${formatBytes(state.capacity.memoryBytes)}`,
  refusal: (state, request) => {
    const short = shortages(state, request);
    const code = short.length > 1 ? 'capacity_short' : short[0]?.code;
    return { code: code ?? 'capacity_short', message: short.map((one) => one.message).join('; ') };
  },
};

function shortages(
  state: NodeState,
  { amounts }: PlacementRequest,
): readonly { code: string; message: string }[] {
  const found: { code: string; message: string }[] = [];
  const cpu = freeCpuMicros(state);
  if (amounts.cpuMicros > cpu) {
    const of = cores(state.capacity.cpuMicros);
    found.push({
      code: 'cpu_short',
      message: `needs ${cores(amounts.cpuMicros)}, ${plain(cpu)} free of ${of}`,
    });
  }
  const memory = freeMemoryBytes(state);
  if (amounts.memoryBytes > memory) {
    const [needed, free] = bytesApart(amounts.memoryBytes, memory);
    const of = formatBytes(state.capacity.memoryBytes);
    found.push({ code: 'memory_short', message: `needs ${needed} of memory, ${free} free of ${of}` });
  }
  return found;
}

function plain(micros: number): string {
  return cores(micros).replace(/ cores?$/, '');
}
