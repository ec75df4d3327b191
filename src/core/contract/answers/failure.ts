import { shape } from '../../schema/shape.ts';
import { flag, integer, listOf, optional, text, time } from './field-shapes.ts';

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
    output: {
      ...listOf({ type: 'object', fields: { at: optional(text), text } }),
      optional: true,
      description: 'With output=true: those lines, redacted, with the time of each by the clock of its node.',
    },
    dropped: { ...integer, optional: true, description: 'Lines before those that were not kept.' },
    health: optional({ ...text, description: 'What its last health check printed.' }),
  },
});
