import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { freePort } from './free-port.ts';
import { busyboxEntries } from './busybox.ts';
import { ensurePackages } from './packages.ts';
import { type TarEntry, tar } from '../tar.ts';

export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
}

/** Where images are pushed to. */
export interface RegistryPlace {
  readonly host: string;
  readonly auth: RegistryAuth | undefined;
}

/** Debian's docker-registry on a free loopback port, with storage of its own. */
export interface Registry extends RegistryPlace {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startRegistry(
  options: {
    readonly auth?: RegistryAuth;
    /** Where to listen instead of on loopback. */
    readonly address?: string;
  } = {},
): Promise<Registry> {
  ensurePackages(['docker-registry', 'busybox-static']);
  const folder = mkdtempSync(join(tmpdir(), 'berth-registry-'));
  const address = options.address ?? '127.0.0.1';
  const port = await freePort(address);
  const host = `${address}:${port}`;
  const configFile = join(folder, 'config.yml');
  writeFileSync(configFile, configuration(folder, host, options.auth));
  const log = openSync(join(folder, 'log'), 'a');
  // The environment of the tests is kept out: REGISTRY_* variables would override the file.
  const child = spawn('/usr/bin/docker-registry', ['serve', configFile], {
    stdio: ['ignore', log, log],
    env: {},
  });
  closeSync(log);
  const killOnExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killOnExit);

  async function stop(): Promise<void> {
    process.off('exit', killOnExit);
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    rmSync(folder, { recursive: true, force: true });
  }

  for (let attempt = 0; !(await answers(host)); attempt += 1) {
    if (child.exitCode !== null || attempt === 400) {
      const output = readFileSync(join(folder, 'log'), 'utf8');
      await stop();
      throw new Error(`docker-registry did not start: ${output}`);
    }
    await delay(25);
  }
  return { host, port, auth: options.auth, stop };
}

export interface ImageContent {
  /** Besides busybox with a link for each applet. */
  readonly files?: readonly TarEntry[];
  /** Without: `sh`. */
  readonly cmd?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly env?: readonly string[];
  readonly user?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `os/architecture[/variant]` each: pushes an index. Without: one manifest for this machine. */
  readonly platforms?: readonly string[];
  /** False: an empty layer, for tests that never run the image. */
  readonly busybox?: boolean;
}

export interface PushedImage {
  /** Of the index if there is one, of the manifest otherwise. */
  readonly digest: string;
  readonly reference: string;
  /** Digest of the manifest for each platform. */
  readonly children: Readonly<Record<string, string>>;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';

/** `name` is `repository:tag`. */
export async function pushImage(
  registry: RegistryPlace,
  name: string,
  content: ImageContent = {},
): Promise<PushedImage> {
  const colon = name.lastIndexOf(':');
  const [repository, tag] = [name.slice(0, colon), name.slice(colon + 1)];
  const rootfs = tar([...(content.busybox === false ? [] : busyboxEntries()), ...(content.files ?? [])]);
  const layer = gzipSync(rootfs, { level: 1 });
  await pushBlob(registry, repository, layer);
  const reference = `${registry.host}/${name}`;

  const pushFor = async (platform: string, revision?: string): Promise<Descriptor> => {
    const config = Buffer.from(JSON.stringify(imageConfig(platform, sha256(rootfs), content)));
    await pushBlob(registry, repository, config);
    const body = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MANIFEST,
        config: descriptor('application/vnd.oci.image.config.v1+json', config),
        layers: [descriptor('application/vnd.oci.image.layer.v1.tar+gzip', layer)],
      }),
    );
    await putManifest(registry, repository, revision ?? sha256(body), MANIFEST, body);
    return descriptor(MANIFEST, body);
  };

  if (content.platforms === undefined) {
    const { digest } = await pushFor(`linux/${machineArchitecture()}`, tag);
    return { digest, reference, children: {} };
  }
  const children: Record<string, string> = {};
  const manifests: (Descriptor & { readonly platform: object })[] = [];
  for (const platform of content.platforms) {
    const child = await pushFor(platform);
    children[platform] = child.digest;
    manifests.push({ ...child, platform: platformFields(platform) });
  }
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }));
  await putManifest(registry, repository, tag, INDEX, index);
  return { digest: sha256(index), reference, children };
}

interface ArtifactLayer {
  readonly type: string;
  readonly data: Buffer;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Something beside images: a manifest with these layers, or an index of what was pushed already. Under its digest without a revision. */
export async function pushArtifact(
  registry: RegistryPlace,
  repository: string,
  artifact: { readonly revision?: string; readonly artifactType?: string } & (
    | { readonly layers: readonly ArtifactLayer[] }
    | { readonly manifests: readonly object[] }
  ),
): Promise<Descriptor> {
  const { revision, artifactType } = artifact;
  const type = 'layers' in artifact ? MANIFEST : INDEX;
  const content =
    'layers' in artifact
      ? await layeredContent(registry, repository, artifact.layers)
      : { manifests: artifact.manifests };
  const body = Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: type, ...(artifactType && { artifactType }), ...content }),
  );
  await putManifest(registry, repository, revision ?? sha256(body), type, body);
  return descriptor(type, body);
}

async function layeredContent(registry: RegistryPlace, repository: string, layers: readonly ArtifactLayer[]) {
  const config = Buffer.from('{}');
  await pushBlob(registry, repository, config);
  for (const { data } of layers) await pushBlob(registry, repository, data);
  return {
    config: descriptor('application/vnd.oci.empty.v1+json', config),
    layers: layers.map(({ type, data, annotations }) => ({
      ...descriptor(type, data),
      ...(annotations && { annotations }),
    })),
  };
}

export async function deleteManifest(
  registry: RegistryPlace,
  repository: string,
  digest: string,
): Promise<void> {
  await send(registry, 'DELETE', `/v2/${repository}/manifests/${digest}`, 202);
}

export function machineArchitecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function configuration(folder: string, host: string, auth: RegistryAuth | undefined): string {
  const lines = [
    'version: 0.1',
    'log: { level: warn, accesslog: { disabled: true } }',
    'storage:',
    `  filesystem: { rootdirectory: ${JSON.stringify(join(folder, 'data'))} }`,
    '  delete: { enabled: true }',
    `http: { addr: ${JSON.stringify(host)} }`,
  ];
  if (auth === undefined) return `${lines.join('\n')}\n`;
  const passwords = join(folder, 'htpasswd');
  writeFileSync(passwords, `${auth.username}:${bcrypt(auth.password)}\n`);
  return `${[...lines, `auth: { htpasswd: { realm: berth-test, path: ${JSON.stringify(passwords)} } }`].join('\n')}\n`;
}

/** The registry takes no other hash. Perl is part of every Debian system and reaches the C library's crypt. */
function bcrypt(password: string): string {
  const salt = `$2y$04$${randomBytes(16).toString('hex').slice(0, 21)}.`;
  return execFileSync('perl', ['-e', 'print crypt($ARGV[0], $ARGV[1])', password, salt], {
    encoding: 'utf8',
  });
}

function imageConfig(platform: string, diffId: string, content: ImageContent): object {
  return {
    ...platformFields(platform),
    config: {
      Env: ['PATH=/bin', ...(content.env ?? [])],
      Cmd: content.cmd ?? (content.entrypoint === undefined ? ['sh'] : []),
      ...(content.entrypoint === undefined ? {} : { Entrypoint: content.entrypoint }),
      ...(content.user === undefined ? {} : { User: content.user }),
      ...(content.labels === undefined ? {} : { Labels: content.labels }),
    },
    rootfs: { type: 'layers', diff_ids: [diffId] },
  };
}

function platformFields(platform: string): object {
  const [os, architecture, variant] = platform.split('/');
  return { os, architecture, ...(variant === undefined ? {} : { variant }) };
}

async function pushBlob(registry: RegistryPlace, repository: string, data: Buffer): Promise<void> {
  const started = await send(registry, 'POST', `/v2/${repository}/blobs/uploads/`, 202);
  const location = new URL(started.headers.get('location') ?? '', `http://${registry.host}`);
  location.searchParams.set('digest', sha256(data));
  await send(
    registry,
    'PUT',
    `${location.pathname}${location.search}`,
    201,
    data,
    'application/octet-stream',
  );
}

async function putManifest(
  registry: RegistryPlace,
  repository: string,
  revision: string,
  type: string,
  body: Buffer,
): Promise<void> {
  await send(registry, 'PUT', `/v2/${repository}/manifests/${revision}`, 201, body, type);
}

async function send(
  registry: RegistryPlace,
  method: string,
  path: string,
  expected: number,
  body?: Buffer,
  type?: string,
): Promise<Response> {
  const { auth } = registry;
  const headers = new Headers(type === undefined ? {} : { 'content-type': type });
  if (auth !== undefined)
    headers.set(
      'authorization',
      `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`,
    );
  const init: RequestInit = { method, headers, signal: AbortSignal.timeout(30_000) };
  if (body !== undefined) init.body = new Uint8Array(body);
  const answer = await fetch(`http://${registry.host}${path}`, init);
  const said = await answer.text();
  if (answer.status !== expected) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
  return answer;
}

function descriptor(mediaType: string, data: Buffer): Descriptor {
  return { mediaType, digest: sha256(data), size: data.length };
}

function sha256(data: Buffer): string {
  return `sha256:${createHash('sha256').update(data).digest('hex')}`;
}

async function answers(host: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(1000) });
    await answer.arrayBuffer();
    return answer.status === 200 || answer.status === 401;
  } catch {
    return false;
  }
}
