import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { EngineTransport, enginePath } from '../../src/agent/engine/transport.ts';
import { tar, type TarEntry } from './tar.ts';

export interface TestImage {
  /** In Dockerfile words, e.g. `CMD ["httpd", "-f"]`, `USER 1000`, `VOLUME /data`, `HEALTHCHECK CMD true`. */
  readonly changes?: readonly string[];
  /** Beyond busybox and its links, by absolute path. */
  readonly files?: Readonly<Record<string, { readonly content: string; readonly mode?: number }>>;
}

let base: readonly TarEntry[] | undefined;

/** Debian's static busybox with a link for each of its applets: about 2 MB, imported in some 0.1 s, no registry needed. */
function busyboxEntries(): readonly TarEntry[] {
  base ??= [
    ...['bin', 'etc', 'proc', 'sys', 'dev', 'var', 'root'].map((path) => ({
      path,
      kind: 'directory' as const,
    })),
    { path: 'tmp', kind: 'directory', mode: 0o1777 },
    {
      path: 'etc/passwd',
      kind: 'file',
      content: 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n',
    },
    { path: 'bin/busybox', kind: 'file', content: readFileSync('/bin/busybox'), mode: 0o755 },
    ...applets().map((name) => ({ path: `bin/${name}`, kind: 'symlink' as const, target: 'busybox' })),
  ];
  return base;
}

function applets(): readonly string[] {
  const names = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).split('\n');
  return names.filter((name) => name !== '' && name !== 'busybox');
}

/**
 * Makes an image out of busybox on the engine behind `socketPath`, under `reference` (with a tag; write a registry host such
 * as `berth.test/box:1`, since Podman does not resolve short names). Without a `CMD` it sleeps for an hour.
 */
export async function buildTestImage(
  engine: { readonly socketPath: string },
  reference: string,
  image: TestImage = {},
): Promise<void> {
  const extra = Object.entries(image.files ?? {}).map(([path, file]) => ({
    path: path.replace(/^\//, ''),
    kind: 'file' as const,
    ...file,
  }));
  const query = [
    ['fromSrc', '-'],
    ['repo', reference],
    ...['CMD ["sleep", "3600"]', ...(image.changes ?? [])].map((change) => ['changes', change]),
  ].map(([key, value]) => `${key}=${encodeURIComponent(value ?? '')}`);
  const transport = new EngineTransport(engine.socketPath);
  await transport.call({
    method: 'POST',
    path: `/v1.41/images/create?${query.join('&')}`,
    headers: { 'Content-Type': 'application/x-tar' },
    body: tar([...busyboxEntries(), ...extra]),
  });
  await transport.call({ method: 'GET', path: enginePath(['v1.41', 'images', reference, 'json']) });
}
