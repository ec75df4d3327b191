import { describe, expect, it } from 'vitest';
import { deploymentBody } from '../contract/deployment-body.ts';
import { jobBody } from '../contract/job-body.ts';
import { volumeBody } from '../contract/volume-body.ts';
import { borrowedWord } from './borrowed-words.ts';
import { checkBody, type Shape } from './shape.ts';

function refusal(shape: Shape, body: unknown) {
  const found = checkBody(shape, body);
  return { code: found?.code, field: found?.field, expected: found?.expected ?? '', why: found?.why ?? '' };
}

describe('words of other systems', () => {
  it.each([
    ['count', 'replicas'],
    ['env', 'environment'],
    ['restart_policy', 'healthCheck.restartAfter'],
    ['restart', 'healthCheck.restartAfter'],
    ['cpus', 'resources.limits.cpu'],
    ['mem_limit', 'resources.limits.memory'],
    ['memory', 'resources.limits.memory'],
    ['depends_on', 'dependsOn'],
    ['healthcheck', 'healthCheck'],
    ['livenessProbe', 'healthCheck'],
    ['cmd', 'command'],
    ['entrypoint', 'command'],
    ['nodeSelector', 'placement.constraints'],
    ['stop_grace_period', 'stop.grace'],
    ['deploy', 'image'],
    ['spec', 'image'],
  ])('%s of a deployment is answered with %s', (word, field) => {
    const { code, field: named, expected, why } = refusal(deploymentBody, { name: 'web', [word]: 'x' });
    expect({ code, named }).toEqual({ code: 'field_unknown', named: word });
    expect(expected.startsWith(`${field} (known fields: kind, `)).toBe(true);
    expect(why).toContain(`here it is ${field}`);
  });

  it('mean what the record has: of a job other fields than of a deployment', () => {
    expect(refusal(jobBody, { restartPolicy: 'Never' }).why).toContain('here it is retries: ');
    expect(refusal(jobBody, { count: 2 }).why).toBe('count is not a known field.');
    expect(refusal(volumeBody, { env: {} }).why).toBe('env is not a known field.');
  });

  it('are known within fields too', () => {
    const inner = (body: object) => refusal(deploymentBody, { name: 'web', ...body }).why;
    expect(inner({ ports: [{ containerPort: 80 }] })).toContain('here it is ports[0].container.');
    expect(inner({ healthCheck: { type: 'exec', test: [] } })).toContain('here it is healthCheck.command.');
    expect(inner({ resources: { limits: { cpus: 1 } } })).toContain('did you mean resources.limits.cpu?');
  });

  it('never name what inherited members are called', () => {
    for (const word of ['constructor', '__proto__', 'toString'])
      expect(borrowedWord(word, ['image'])).toBeUndefined();
  });

  it.each([
    ['ports as texts', { ports: ['8080:80'] }, 'ports[0]', '{ container: 80, host: 8080 }'],
    ['environment as a list', { environment: ['A=b'] }, 'environment', '{ LOG_LEVEL: info }'],
    ['command as one text', { command: 'web --port 80' }, 'command', '["/bin/web", "--port", "8080"]'],
    ['secrets as names', { secrets: ['db'] }, 'secrets[0]', '{ name: DB, vault_path: resources/db }'],
  ])('in another form: %s', (_what, body, field, form) => {
    const found = refusal(deploymentBody, body);
    expect({ code: found.code, field: found.field }).toEqual({ code: 'field_type_invalid', field });
    expect(found.expected).toContain(form);
  });

  it('lead to fields that there are', () => {
    // Every word that a deployment or a job knows leads to a field of its shape, however deep.
    const leads = (shape: Shape | undefined, [first, ...rest]: readonly string[]): boolean =>
      first === undefined ||
      (shape?.type === 'object' && Object.hasOwn(shape.fields, first) && leads(shape.fields[first], rest));
    for (const body of [deploymentBody, jobBody]) {
      const words = [
        'env',
        'restart',
        'cmd',
        'cpu',
        'mem',
        'memreservation',
        'limits',
        'health',
        'links',
        'port',
      ];
      const more = [
        'domain',
        'mounts',
        'config',
        'stopsignal',
        'strategy',
        'affinity',
        'node',
        'capadd',
        'cron',
      ];
      for (const word of [...words, ...more]) {
        const field = borrowedWord(word, Object.keys(body.fields))?.field;
        expect(field === undefined || leads(body, field.split('.')), `${word} → ${field}`).toBe(true);
      }
    }
  });
});
