import { describe, expect, it } from 'vitest';
import { filesRule } from './files.ts';
import type { DeploymentInput } from './rule.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

type Files = NonNullable<DeploymentInput['draft']['files']>;

function refuse(files: Files, mountPath?: string) {
  const volumes = mountPath === undefined ? [] : [{ volumeId: 'vol_1', mountPath }];
  const { code, field } = filesRule({ draft: { name: 'web', files, volumes }, limits }) ?? {};
  return code === undefined ? undefined : [code, field];
}

const file = (path: string, content = 'events {}') => ({ path, content });

describe('files of a container', () => {
  it.each<[string, Files, string?]>([
    ['a text', [file('/etc/nginx/nginx.conf')]],
    ['bytes', [{ path: '/srv/a', base64: 'AAEC' }]],
    ['nothing in it', [file('/srv/empty', '')]],
    ['a mode', [{ ...file('/usr/local/bin/run'), mode: '0555' }]],
    ['beside a volume', [file('/data.conf')], '/data'],
    ['256 KiB', [file('/a', 'x '.repeat(131_072))]],
    ['a configuration that names files of secrets', [file('/p.yml', 'password_file: /run/x\nuser: shop')]],
    ['a variable of nginx', [file('/n.conf', 'proxy_set_header Authorization $http_authorization;')]],
  ])('%s is accepted', (_what, files, mountPath) => {
    expect(refuse(files, mountPath)).toBeUndefined();
  });

  it.each<[string, Files, string, string?]>([
    ['a relative path', [file('nginx.conf')], 'path'],
    ['a path with ..', [file('/etc/../root/.profile')], 'path'],
    ['a path that ends with a slash', [file('/etc/nginx/')], 'path'],
    ['no path', [{ content: 'x' }], 'path'],
    ['a path of the kernel', [file('/proc/version')], 'path'],
    ['a device', [file('/dev/null')], 'path'],
    ['the resolver', [file('/etc/resolv.conf')], 'path'],
    ['a volume', [file('/data')], 'path', '/data'],
    ['inside a volume', [file('/data/app.conf')], 'path', '/data'],
    ['above a volume', [file('/data')], 'path', '/data/inner'],
    ['both contents', [{ path: '/a', content: 'x', base64: 'AAEC' }], ''],
    ['no content', [{ path: '/a' }], ''],
    ['no base64', [{ path: '/a', base64: 'AAE' }], 'base64'],
    ['base64 of another alphabet', [{ path: '/a', base64: '_-8=' }], 'base64'],
    ['a mode with setuid', [{ ...file('/a'), mode: '4755' }], 'mode'],
    ['a mode that is no number', [{ ...file('/a'), mode: 'rw' }], 'mode'],
  ])('%s is refused', (_what, files, field, mountPath) => {
    const path = field === '' ? 'files[0]' : `files[0].${field}`;
    expect(refuse(files, mountPath)).toEqual(['file_invalid', path]);
  });

  it.each([
    ['twice', '/a', '/a'],
    ['inside another', '/a', '/a/b'],
    ['above another', '/a/b', '/a'],
  ])('a path %s is refused', (_what, first, second) => {
    expect(refuse([file(first), file(second)])).toEqual(['file_invalid', 'files[1].path']);
  });

  it.each<[string, Files]>([
    ['one byte more', [file('/a', 'x '.repeat(131_072)), file('/b', 'y')]],
    ['text that JSON writes six times as long', [file('/a', '\u0001'.repeat(100_000))]],
    ['65 files', Array.from({ length: 65 }, (_, at) => file(`/f${at}`))],
  ])('%s is too large', (_what, files) => {
    expect(refuse(files)).toEqual(['field_too_large', 'files']);
  });

  const PASSWORD = 'Xk29-fQp0-mVt7';
  it.each<[string, Files, string]>([
    ['a password by its key', [file('/a.yml', `db:\n  password: "${PASSWORD}"\n`)], 'content'],
    ['a password in an address', [file('/a', `url = postgres://shop:${PASSWORD}@db/shop`)], 'content'],
    [
      'a private key',
      [file('/k', `-----BEGIN PRIVATE KEY-----\n${'Ab3d'.repeat(30)}\n-----END PRIVATE KEY-----`)],
      'content',
    ],
    ['the same in base64', [{ path: '/a', base64: btoa(`password=${PASSWORD}\n`) }], 'base64'],
  ])('%s is refused like one in the environment', (_what, files, field) => {
    expect(refuse(files)).toEqual(['plaintext_credential_in_environment', `files[0].${field}`]);
  });

  it.each(['a=b\n', 'password:\n', '-----BEGIN ', 'x', 'eyJ.', '://:@', 'A1b2C3d4'])(
    'judges 256 KiB of %j within a moment',
    (text) => {
      const [code] = refuse([file('/a', text.repeat(262_144 / text.length))]) ?? [];
      expect(code).not.toBe('field_too_large');
    },
    2_000,
  );
});
