import { EngineTransport, enginePath } from '../../../src/agent/engine/transport.ts';
import { busyboxEntries } from './busybox.ts';
import type { ImageContent } from './registry.ts';
import { tar, type TarEntry } from '../tar.ts';

/** For an image of some 80 MB on a machine that has other work as well. */
const TRANSFER_MS = 180_000;

export interface TestImage {
  /** In Dockerfile words, e.g. `CMD ["httpd", "-f"]`, `USER 1000`, `VOLUME /data`, `HEALTHCHECK CMD true`. */
  readonly changes?: readonly string[];
  /** Beyond busybox and its links, by absolute path. */
  readonly files?: Readonly<Record<string, { readonly content: string | Buffer; readonly mode?: number }>>;
  /** More of the same, as entries of the archive. */
  readonly entries?: readonly TarEntry[];
}

/** What is pushed to registries, for an engine. */
export function testImage({ files = [], cmd, user }: ImageContent): TestImage {
  const changes = [`CMD ${JSON.stringify(cmd)}`, ...(user === undefined ? [] : [`USER ${user}`])];
  return { entries: files, changes };
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
  const extra = Object.entries(image.files ?? {}).map(
    ([path, { content, mode }]): TarEntry => ({
      path: path.replace(/^\//, ''),
      data: typeof content === 'string' ? Buffer.from(content) : content,
      ...(mode === undefined ? {} : { mode }),
    }),
  );
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
    deadlineMs: TRANSFER_MS,
    body: tar([...busyboxEntries(), ...extra, ...(image.entries ?? [])]),
  });
  await transport.call({ method: 'GET', path: enginePath(['v1.41', 'images', reference, 'json']) });
}

/** Hands an image of the engine to the registry that its reference names, as `docker push` does. */
export async function pushFromEngine(
  engine: { readonly socketPath: string },
  reference: string,
): Promise<void> {
  const [, name, tag] = /^(.*):([^:/]+)$/.exec(reference) ?? [];
  const transport = new EngineTransport(engine.socketPath);
  const answer = await transport.stream({
    method: 'POST',
    path: `/v1.41/images/${name}/push?tag=${tag}`,
    headers: { 'X-Registry-Auth': Buffer.from('{}').toString('base64') },
    deadlineMs: TRANSFER_MS,
    wholeDeadline: true,
  });
  let said = '';
  for await (const chunk of answer) said += chunk.toString();
  if (said.includes('"error"')) throw new Error(`${reference} was not pushed: ${said}`);
}
