import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Failure } from '../failure.ts';
import { type TarEntry, tarOf } from './tar.ts';

export interface Image {
  /** The files, not compressed. */
  readonly files: Buffer;
  readonly layer: Buffer;
  readonly config: Buffer;
  readonly manifest: Buffer;
}

export const SAMPLE_PORT = 8080;
/** Found in the page; the check of the URL looks for it. */
export const SAMPLE_MARK = 'It works: Berth runs this container.';

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth</title>
<style>body{font:1.1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:15vh auto;padding:0 1.5rem;color:#123}code{background:#eef;padding:.1em .4em;border-radius:4px}</style>
<h1>${SAMPLE_MARK}</h1>
<p>A control plane placed it on this machine, its agent pulled the image from a local registry and started it,
and a health check keeps an eye on it.</p>
<p>Next: <code>bin/berth describe deployment hello</code></p>
</html>
`;

/** A web server of one static program and one page: about 1 MB, made without the internet. */
export function sampleImage(busybox: string): Image {
  const program = readFileSync(busybox);
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8', timeout: 5000 }).split('\n');
  const entries: readonly TarEntry[] = [
    ...['bin/', 'etc/', 'www/', 'proc/', 'sys/', 'dev/'].map((path) => ({ path })),
    { path: 'tmp/', mode: 0o1777 },
    {
      path: 'etc/passwd',
      content: Buffer.from('root:x:0:0:root:/:/bin/sh\nweb:x:1000:1000:web:/www:/bin/sh\n'),
    },
    { path: 'etc/group', content: Buffer.from('root:x:0:\nweb:x:1000:\n') },
    { path: 'www/index.html', content: Buffer.from(PAGE) },
    { path: 'bin/busybox', mode: 0o755, content: program },
    ...applets
      .filter((applet) => applet !== '' && applet !== 'busybox')
      .map((applet) => ({ path: `bin/${applet}`, linkTo: 'busybox' })),
  ];
  const files = tarOf(entries);
  const layer = gzipSync(files, { level: 6 });
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: {
        User: '1000:1000',
        Env: ['PATH=/bin'],
        Cmd: ['/bin/httpd', '-f', '-v', '-p', String(SAMPLE_PORT), '-h', '/www'],
        ExposedPorts: { [`${SAMPLE_PORT}/tcp`]: {} },
      },
      rootfs: { type: 'layers', diff_ids: [digestOf(files)] },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: describe('application/vnd.oci.image.config.v1+json', config),
      layers: [describe('application/vnd.oci.image.layer.v1.tar+gzip', layer)],
    }),
  );
  return { files, layer, config, manifest };
}

/** The same image as an archive that an engine loads without a registry. */
export function archiveOf(image: Image, reference: string): Buffer {
  const config = `${digestOf(image.config).slice(7)}.json`;
  const manifest = [{ Config: config, RepoTags: [reference], Layers: ['layer.tar'] }];
  return tarOf([
    { path: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) },
    { path: config, content: image.config },
    { path: 'layer.tar', content: image.files },
  ]);
}

export function digestOf(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

function describe(mediaType: string, data: Buffer): object {
  return { mediaType, digest: digestOf(data), size: data.length };
}

const PUSH_MS = 30_000;

/** Plain HTTP to a registry on loopback, per the OCI distribution specification. */
export async function push(
  registry: string,
  repository: string,
  tag: string,
  image: Image,
): Promise<'pushed' | 'there already'> {
  const base = `http://${registry}/v2/${repository}`;
  const known = await send('HEAD', `${base}/manifests/${tag}`, { accept: MANIFEST_TYPE });
  if (known.headers.get('docker-content-digest') === digestOf(image.manifest)) return 'there already';
  for (const blob of [image.layer, image.config]) {
    const digest = digestOf(blob);
    if ((await send('HEAD', `${base}/blobs/${digest}`)).status === 200) continue;
    const begun = await send('POST', `${base}/blobs/uploads/`);
    const location = begun.headers.get('location');
    if (begun.status !== 202 || location === null) throw refused('the upload of a layer', begun.status);
    const target = new URL(location, `http://${registry}`);
    target.searchParams.set('digest', digest);
    const stored = await send('PUT', target.href, { 'content-type': 'application/octet-stream' }, blob);
    if (stored.status !== 201) throw refused('a layer', stored.status);
  }
  const stored = await send(
    'PUT',
    `${base}/manifests/${tag}`,
    { 'content-type': MANIFEST_TYPE },
    image.manifest,
  );
  if (stored.status !== 201) throw refused('the manifest', stored.status);
  return 'pushed';
}

async function send(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: Buffer,
): Promise<Response> {
  const answer = await fetch(url, {
    method,
    headers,
    signal: AbortSignal.timeout(PUSH_MS),
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  });
  await answer.arrayBuffer();
  return answer;
}

function refused(what: string, status: number): Failure {
  return new Failure(`the local registry did not take ${what}: status ${status}`);
}
