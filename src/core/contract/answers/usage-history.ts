import { shape } from '../../schema/shape.ts';
import { flag, integer, listOf, number, nullable, optional, text, time } from './field-shapes.ts';

const figures = listOf(nullable(number));

/** Columns of equal length, one figure per step. */
export const usageHistory = shape({
  type: 'object',
  named: 'UsageHistory',
  description:
    'Figures of the last hours, one per step and column; null where nobody knows: there was no such record, its agents were away, or the control plane was. Never 0 for what is missing.',
  fields: {
    name: text,
    start: { ...time, description: 'When the first step began.' },
    stepSeconds: { ...integer, description: 'Length of a step; the last one may not be over.' },
    recorded: {
      ...flag,
      description: 'False: there is nothing of it. It is new, or limits.historyBytes is used up.',
    },
    partial: optional({
      ...flag,
      description: 'A control plane did not answer: what its agents measured is missing in the sums.',
    }),
    cpuCores: {
      ...figures,
      description: 'Cores, of all measured containers together: the mean of the step.',
    },
    cpuCoresMax: {
      ...figures,
      description:
        'The most in the step; where agents are connected to several control planes, at most that.',
    },
    memoryBytes: { ...figures, description: 'Bytes of memory: the mean of the step.' },
    memoryBytesMax: { ...figures, description: 'The most in the step, likewise.' },
    receivedBytesPerSecond: {
      ...figures,
      description:
        'Bytes per second that came in: the mean of the step; null also where the engine does not say.',
    },
    sentBytesPerSecond: { ...figures, description: 'Bytes per second that went out, likewise.' },
    measured: { ...figures, description: 'Of how many containers these are, on average.' },
    running: {
      ...figures,
      optional: true,
      description: 'Of a deployment: instances that ran, the fewest in the step.',
    },
    wanted: { ...figures, optional: true, description: 'Of a deployment: instances that were wanted.' },
    failures: { ...figures, description: 'Runs of instances that failed in the step.' },
  },
});
