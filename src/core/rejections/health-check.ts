import { entries } from './entry.ts';

/** Health check. */
export const healthCheckCodes = entries({
  healthcheck_command_missing: {
    status: 422,
    field: 'healthCheck.command',
    title: 'An exec health check has no command.',
    cause:
      'The check runs inside the container, so there is nothing to run without a command. The field is absent, an empty list, or holds only empty strings. One element is the shell form (the whole command line); several elements are the argv form (one per argument, no shell).',
    accepted:
      'a non-empty array of strings, shell form ["wget -qO- localhost:8080/ok"] or argv form ["/bin/check", "--quick"]',
    failing: '{ "healthCheck": { "type": "exec" } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["wget -qO- localhost:8080/ok"] } }',
    origin: '7.2',
  },
  healthcheck_retries_below_floor: {
    status: 422,
    field: 'healthCheck.retries',
    title: 'The number of retries is below the floor of 3.',
    cause:
      'Retries are the only damper between one slow answer and a degraded deployment: with 1 or 2, a single garbage-collection pause or a busy disk marks a container unhealthy and can start a replacement that makes the load worse.',
    accepted: 'an integer of at least 3, or the field left out to take the default of the container runtime',
    failing: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "retries": 1 } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "retries": 3 } }',
    origin: '7.2',
  },
  healthcheck_timeout_below_floor: {
    status: 422,
    field: 'healthCheck.timeout',
    title: 'The timeout of the health check is below the floor of 10s.',
    cause:
      'A check that does not finish in time is killed with SIGKILL and counted as a failure. Under load even starting a process in a container can take seconds, so a short timeout measures the load of the machine and not the health of the workload.',
    accepted: 'a duration of at least 10s, or the field left out to take the runtime default of 30s',
    failing: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "timeout": "2s" } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["/bin/check"], "timeout": "10s" } }',
    origin: '7.2',
  },
  healthcheck_type_inert: {
    status: 422,
    field: 'healthCheck.type',
    title: 'The declaration would produce no real check.',
    cause:
      'A health check that cannot fail opens two gates falsely: `dependsOn` with `healthy`, and the readiness gate of a rolling update. Refused are a type that is absent, empty or "none", the command `["NONE"]`, and commands whose last status can only be zero, in shell or argv form: `true`, `:`, `exit 0`, `echo …`, a comment, `x || true`, `true || x`, `x; exit 0`, `x &`, a pipeline whose last command cannot fail (`x | cat`, `x | tee f`), also behind programs that end as what they start (`env`, `nice`, `nohup`, `timeout 5 true`). What only may succeed is a check: `x || exit 1`, `test -f /ready`, `x | grep -q ok`. If the workload cannot be checked, leave `healthCheck` out altogether; the gates then know it.',
    accepted: 'type "exec" with a command that fails when the workload is unwell, or no healthCheck at all',
    failing: '{ "healthCheck": { "type": "none" } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["wget -qO- localhost:8080/ok"] } }',
    origin: '7.2',
  },
  healthcheck_type_unsupported: {
    status: 422,
    field: 'healthCheck.type',
    title: 'The type of the health check is not exec.',
    cause:
      'The check is carried out by the container runtime, inside the container. Probes over HTTP, TCP or gRPC are not made from outside, and storing one would leave the workload unchecked. An HTTP endpoint is checked by a client in the image. The type is judged before the other fields of the check.',
    accepted: '"exec"',
    failing: '{ "healthCheck": { "type": "http", "command": ["http://localhost:8080/ok"] } }',
    corrected: '{ "healthCheck": { "type": "exec", "command": ["wget -qO- http://localhost:8080/ok"] } }',
    origin: '7.2',
  },
});
