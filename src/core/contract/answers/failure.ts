import { shape } from '../../schema/shape.ts';
import { flag, integer, optional, text, time } from './field-shapes.ts';

export const failure = shape({
  type: 'object',
  named: 'Failure',
  description: 'A run of an instance that failed, kept after its container is gone.',
  fields: {
    instance: text,
    nodeId: text,
    specHash: text,
    canary: optional(flag),
    at: time,
    reason: { ...text, description: 'Stable: container_exited, out_of_memory, unhealthy, …' },
    message: { ...text, description: 'How it ended, and the line of its output that most likely says why.' },
    exitCode: optional(integer),
    ranMs: { ...integer, optional: true, description: 'How long it ran, in milliseconds.' },
    lines: { ...integer, description: 'How many of the last lines it printed are kept: logs?previous=true.' },
  },
});
