import type { Json } from '../../support/harness/api-client.ts';
import { type Case, DEPLOYMENTS, inside, post, put, refused, stored } from './case.ts';

const resources = (block: Json) => post({ resources: block });
const ports = (...list: readonly Json[]) => post({ ports: list });
const ingress = (block: Json | readonly Json[]) => post({ ingress: block });
const update = (block: Json) => post({ update: block });

/** Extensions: what else a deployment declares. */
export const workloadCases: readonly Case[] = [
  ...refused('deployment_already_exists', 'name', {
    'a second time': async (stage) => post({ name: await stored(stage) })(stage),
  }),
  ...refused('name_mismatch', 'name', { 'another name': put({}, { name: 'another' }) }),
  ...inside('name_mismatch', {
    'the same name': async (stage) => {
      const name = await stored(stage);
      return { method: 'PUT', path: `${DEPLOYMENTS}/${name}`, options: { body: { name, replicas: 2 } } };
    },
  }),
  ...refused('command_invalid', 'command', {
    empty: post({ command: [] }),
    'no program': post({ command: ['', '--port'] }),
  }),
  ...inside('command_invalid', { argv: post({ command: ['/bin/web', ''] }) }),
  ...refused('user_invalid', 'user', {
    'three parts': post({ user: '1000:1000:1000' }),
    'a number': post({ user: 1000 }),
    'beyond 32 bits': post({ user: '4294967295' }),
    empty: post({ user: '' }),
    'no group': post({ user: '1000:' }),
    'a line break': post({ user: 'root\nroot' }),
  }),
  ...inside('user_invalid', {
    'uid and gid': post({ user: '1000:1000', readOnlyRootFilesystem: true }),
    'the largest': post({ user: '4294967294' }),
    names: post({ user: 'www-data:www-data' }),
  }),
  ...refused('capability_unknown', 'capabilities.drop[0]', {
    misspelt: post({ capabilities: { drop: ['CHWON'] } }),
  }),
  ...refused('capability_unknown', 'capabilities.drop[1]', {
    twice: post({ capabilities: { drop: ['CHOWN', 'cap_chown'] } }),
  }),
  ...refused('capability_unknown', 'capabilities.drop', {
    'no list': post({ capabilities: { drop: 'ALL' } }),
  }),
  ...inside('capability_unknown', {
    all: post({ capabilities: { drop: ['ALL'] } }),
    'with a prefix': post({ capabilities: { drop: ['CAP_NET_RAW', 'setuid'] } }),
    none: post({ capabilities: { drop: [] } }),
  }),
  ...refused('stop_invalid', 'stop.signal', {
    'without SIG': post({ stop: { signal: 'INT' } }),
    'a number': post({ stop: { signal: 2 } }),
    'one that ends nothing': post({ stop: { signal: 'SIGSTOP' } }),
  }),
  ...refused('stop_invalid', 'stop.grace', {
    'no unit': post({ stop: { grace: '30' } }),
    'less than a second': post({ stop: { grace: '999ms' } }),
    'over an hour': post({ stop: { grace: '61m' } }),
  }),
  ...inside('stop_invalid', {
    'what PostgreSQL wants': post({ stop: { signal: 'SIGINT', grace: '1m' } }),
    'nothing of its own': post({ stop: {} }),
  }),
  ...refused('file_invalid', 'files[0].path', {
    'a relative path': post({ files: [{ path: '../nginx.conf', content: 'events {}' }] }),
    'a path of the kernel': post({ files: [{ path: '/proc/version', content: '' }] }),
    'no path': post({ files: [{ content: 'x' }] }),
  }),
  ...refused('file_invalid', 'files[1].path', {
    twice: post({
      files: [
        { path: '/a', content: 'x' },
        { path: '/a', content: 'y' },
      ],
    }),
  }),
  ...refused('file_invalid', 'files[0]', {
    'no content': post({ files: [{ path: '/a' }] }),
    'two contents': post({ files: [{ path: '/a', content: 'x', base64: 'eA==' }] }),
  }),
  ...refused('file_invalid', 'files[0].base64', {
    'no base64': post({ files: [{ path: '/a', base64: 'x' }] }),
  }),
  ...refused('file_invalid', 'files[0].mode', {
    setuid: post({ files: [{ path: '/a', content: 'x', mode: '4755' }] }),
    'a number': post({ files: [{ path: '/a', content: 'x', mode: 444 }] }),
  }),
  ...inside('file_invalid', {
    'text and bytes': post({
      files: [
        { path: '/etc/nginx/nginx.conf', content: 'events {}' },
        { path: '/srv/logo', base64: 'AAEC', mode: '0400' },
      ],
    }),
    none: post({ files: [] }),
  }),
  ...refused('field_too_large', 'files', {
    'one byte more than 256 KiB': post({ files: [{ path: '/a', content: 'x '.repeat(131_072) + 'y' }] }),
  }),
  ...refused('plaintext_credential_in_environment', 'files[0].content', {
    'a password in a file': post({ files: [{ path: '/a.yml', content: 'password: Xk29-fQp0-mVt7\n' }] }),
  }),
  ...refused('field_unknown', 'capabilities.add', {
    'a capability to add': post({ capabilities: { add: ['NET_ADMIN'] } }),
  }),
  ...refused('field_too_large', 'environment', {
    '64 KiB and its quotes': post({ environment: { A: 'x'.repeat(65_536) } }),
    '1,025 variables': post({
      environment: Object.fromEntries(Array.from({ length: 1025 }, (_, at) => [`V${at}`, 'x'])),
    }),
  }),
  ...refused('field_too_large', 'labels', { 'a long text': post({ labels: { notes: 'x'.repeat(70_000) } }) }),
  ...refused('field_too_large', 'command', {
    'a long argument': post({ command: ['/bin/web', 'x '.repeat(35_000)] }),
  }),
  ...refused('field_too_large', 'healthCheck.command', {
    '1,025 words': post({ healthCheck: { type: 'exec', command: Array.from({ length: 1025 }, () => 'x') } }),
  }),
  ...refused('field_too_large', 'body', {
    'five large fields': post({
      command: ['/bin/web', 'x '.repeat(30_000)],
      environment: { A: 'x '.repeat(30_000) },
      composedEnvironment: { B: 'x '.repeat(30_000) },
      labels: { a: 'x '.repeat(30_000) },
      healthCheck: { type: 'exec', command: ['x '.repeat(30_000)] },
    }),
  }),
  ...inside('field_too_large', {
    '1,024 variables': post({
      environment: Object.fromEntries(Array.from({ length: 1024 }, (_, at) => [`V${at}`, 'x'])),
    }),
    '64 KiB': post({ environment: { A: 'x '.repeat(32_764) } }),
  }),
  ...refused('environment_invalid', 'environment', {
    space: post({ environment: { 'LOG LEVEL': 'x' } }),
  }),
  ...refused('environment_invalid', 'environment', {
    'equals sign': post({ environment: { 'A=B': 'x' } }),
  }),
  ...refused('environment_invalid', 'environment.1A', {
    'a digit first': post({ environment: { '1A': 'x' } }),
  }),
  ...inside('environment_invalid', {
    plain: post({ environment: { A: '1', _b: '2', 'a.b-c': '3', constructor: 'x', toString: 'y' } }),
    'a newline in a value': post({ environment: { A: '1\n2' } }),
  }),
  ...refused('ports_invalid', 'ports[0].container', {
    absent: ports({ host: 80 }),
    '0': ports({ container: 0 }),
  }),
  ...refused('ports_invalid', 'ports[0].host', { '65,536': ports({ container: 80, host: 65_536 }) }),
  ...refused('ports_invalid', 'ports[1].host', {
    'the same twice': ports({ container: 80, host: 1080 }, { container: 81, host: 1080 }),
  }),
  ...inside('ports_invalid', { '65,535': ports({ container: 1, host: 65_535 }, { container: 65_535 }) }),
  ...refused('ingress_invalid', 'ingress.host', {
    'a URL': ingress({ host: 'https://shop.example.com/', port: 80 }),
    'a rule of the proxy': ingress({ host: 'a.example.com`) || Host(`b.example.com', port: 80 }),
    absent: ingress({ port: 80 }),
  }),
  ...refused('ingress_invalid', 'ingress.port', { absent: ingress({ host: 'shop.example.com' }) }),
  ...refused('ingress_invalid', 'ingress[1].host', {
    'a wildcard': ingress([
      { host: 'w1.example.com', port: 80 },
      { host: '*.example.com', port: 80 },
    ]),
    twice: ingress([
      { host: 'w2.example.com', port: 80 },
      { host: 'w2.example.com', port: 81 },
    ]),
  }),
  ...refused('ingress_invalid', 'ingress[0].listen', {
    'a port without the one to listen on': ingress([{ protocol: 'tcp', port: 5432 }]),
  }),
  ...refused('ingress_invalid', 'ingress[0].tls', {
    'a word': ingress([{ host: 'w3.example.com', port: 80, tls: 'on' }]),
  }),
  ...refused('secret_path_namespace', 'ingress[0].tls.vault_path', {
    'of a certificate': ingress([{ host: 'w4.example.com', port: 80, tls: { vault_path: '_ingress/acme' } }]),
  }),
  ...inside('ingress_invalid', {
    plain: ingress({ host: 'plain.example.com', port: 8080, provider: 'traefik' }),
    'several ways in': async (stage) => {
      const name = await stored(stage);
      return {
        method: 'PUT',
        path: `${DEPLOYMENTS}/${name}`,
        options: {
          body: {
            ingress: [
              { host: `${name}.example.com`, port: 8080 },
              { host: `${name}.example.com`, path: '/api', port: 8081, tls: 'off' },
            ],
          },
        },
      };
    },
  }),
  ...refused('ingress_host_taken', 'ingress[0].host', {
    'by another deployment': async (stage) => {
      const host = `${await stored(stage)}-taken.example.com`;
      await stored(stage, { ingress: [{ host, port: 80 }] });
      return post({ ingress: [{ host, port: 8080 }] })(stage);
    },
    'by an update': async (stage) => {
      const host = `${await stored(stage)}-held.example.com`;
      await stored(stage, { ingress: [{ host, path: '/api', port: 80 }] });
      return put({}, { ingress: [{ host, path: '/api', port: 8080 }] })(stage);
    },
  }),
  ...inside('ingress_host_taken', {
    'another path of the same host': async (stage) => {
      const host = `${await stored(stage)}-shared.example.com`;
      await stored(stage, { ingress: [{ host, port: 80 }] });
      return post({ ingress: [{ host, path: '/api', port: 8080 }] })(stage);
    },
  }),
  ...refused('update_invalid', 'update.maxSurge', {
    'no step possible': update({ maxSurge: 0, maxUnavailable: 0 }),
    '101': update({ maxSurge: 101 }),
  }),
  ...refused('update_invalid', 'update.maxUnavailable', { '-1': update({ maxUnavailable: -1 }) }),
  ...refused('update_invalid', 'update.progressDeadline', { '25h': update({ progressDeadline: '25h' }) }),
  ...refused('update_invalid', 'update.onFailure', { 'another word': update({ onFailure: 'retry' }) }),
  ...inside('update_invalid', {
    full: update({ maxSurge: 1, maxUnavailable: 0, progressDeadline: '5m', onFailure: 'rollback' }),
    'stop first': update({ maxSurge: 0, maxUnavailable: 1 }),
  }),
  ...refused('depends_on_invalid', 'dependsOn.db', {
    'another gate': post({ dependsOn: { db: 'ready' } }),
    'another type': post({ dependsOn: { db: true } }),
  }),
  ...refused('depends_on_invalid', 'dependsOn.D B', { 'no name': post({ dependsOn: { 'D B': 'healthy' } }) }),
  ...inside('depends_on_invalid', {
    unknown: post({ dependsOn: { later: 'healthy', afterwards: 'started' } }),
  }),
  ...refused('depends_on_cycle', 'dependsOn.loop', {
    itself: post({ name: 'loop', dependsOn: { loop: 'healthy' } }),
  }),
  ...refused('depends_on_cycle', 'dependsOn.circle-b', {
    'a circle of two': async (stage) => {
      await stored(stage, { name: 'circle-b', dependsOn: { 'circle-a': 'healthy' } });
      return post({ name: 'circle-a', dependsOn: { 'circle-b': 'healthy' } })(stage);
    },
  }),
  ...refused('resources_invalid', 'resources.requests.cpu', {
    '0': resources({ requests: { cpu: 0 } }),
    '1,025': resources({ requests: { cpu: 1025 } }),
  }),
  ...refused('resources_invalid', 'resources.limits.memory', {
    'below the request': resources({ requests: { memory: '1Gi' }, limits: { memory: '512Mi' } }),
    'an unknown unit': resources({ limits: { memory: '1GB' } }),
    'too little': resources({ limits: { memory: '1Mi' } }),
  }),
  ...inside('resources_invalid', {
    equal: resources({ requests: { cpu: 1024, memory: '4Mi' }, limits: { cpu: 1024, memory: '4Mi' } }),
  }),
];
