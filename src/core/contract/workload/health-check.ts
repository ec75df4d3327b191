import { DURATION } from '../forms.ts';
import { shape } from '../../schema/shape.ts';

const strings = shape({ type: 'list', items: { type: 'string' } });

const duration = shape({ type: 'string', form: DURATION, ownCode: 'healthcheck_duration_invalid' });

export const healthCheck = shape({
  type: 'object',
  named: 'HealthCheckDescription',
  fields: {
    type: {
      type: 'any',
      schema: { type: 'string', enum: ['exec'] },
      description: 'A command inside the container; there is no other kind.',
      example: 'exec',
    },
    command: {
      ...strings,
      form: { minItems: 1, maxItems: 1024 },
      sensitive: true,
      description:
        'One element: given to a shell; several: a program and its arguments. Status 0 is healthy. A command that cannot fail is refused.',
      example: ['wget -qO /dev/null http://127.0.0.1:8080/'],
      ownCode: 'healthcheck_command_missing',
    },
    interval: {
      ...duration,
      description: 'Between two checks; above 0, at most 24h.',
      absent: "the engine's, 30s",
      example: '10s',
    },
    timeout: {
      ...duration,
      description: 'After which a check has failed; 10s to 24h.',
      absent: "the engine's, 30s",
      example: '10s',
    },
    retries: {
      type: 'integer',
      form: { minimum: 3 },
      description: 'Failures in a row that make an instance unhealthy.',
      absent: "the engine's, 3",
      example: 5,
      ownCode: 'healthcheck_retries_below_floor',
    },
    startPeriod: {
      ...duration,
      description: 'After the start, in which failures do not count; at most 24h.',
      absent: 'none',
      example: '30s',
    },
    restartAfter: {
      type: 'string',
      form: { anyOf: [DURATION, { const: 'never' }] },
      description:
        'How long an instance may be unhealthy before it is restarted, 1s to 24h, or never. Changing it restarts nothing.',
      absent: '3 intervals, at least 30s',
      example: '2m',
      ownCode: 'healthcheck_duration_invalid',
    },
  },
  required: ['type', 'command'],
});
