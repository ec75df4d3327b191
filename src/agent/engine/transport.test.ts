import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerSpec } from './container.ts';
import { DockerEngine } from './docker-engine.ts';
import { EngineConflictError, EngineError, EngineUnavailableError } from './errors.ts';
import { EngineTransport, enginePath } from './transport.ts';

/** Answers that a healthy engine does not give, from a server on a real socket. */
describe('transport', () => {
  let folder: string;
  let socketPath: string;
  let server: Server | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-transport-'));
    socketPath = join(folder, 's');
  });
  afterEach(async () => {
    await close();
    await rm(folder, { recursive: true });
  });

  async function close(): Promise<void> {
    server?.closeAllConnections();
    await new Promise((resolve) => {
      if (server === undefined) resolve(undefined);
      else server.close(resolve);
    });
    server = undefined;
  }

  async function serve(listener: RequestListener): Promise<EngineTransport> {
    await close();
    server = createServer(listener);
    await new Promise<void>((resolve) => server?.listen(socketPath, resolve));
    return new EngineTransport(socketPath);
  }

  const engineAnswering = (apiVersion: string, listener: RequestListener): Promise<EngineTransport> =>
    serve((request, response) => {
      if (request.url !== '/_ping') return listener(request, response);
      response.setHeader('Api-Version', apiVersion);
      response.end('OK');
    });

  it('encodes paths', () => {
    expect(enginePath(['images', 'a/b:1', 'json'], { q: '&=é', none: undefined, yes: true })).toBe(
      '/images/a%2Fb%3A1/json?q=%26%3D%C3%A9&yes=true',
    );
  });

  it('knows the error bodies of both engines', async () => {
    const transport = await serve((request, response) => {
      const podman = { cause: 'in use', message: 'the name "a" is already in use', response: 500 };
      const [status, body] = {
        '/docker': [400, '{"message":"bad parameter"}'],
        '/podman': [500, JSON.stringify(podman)],
        '/text': [502, 'bad gateway\n'],
        '/empty': [500, ''],
        '/html': [500, '{not json'],
      }[request.url ?? ''] ?? [200, ''];
      response.statusCode = Number(status);
      response.end(body);
    });
    const call = (path: string): Promise<unknown> => transport.call({ method: 'GET', path });
    await expect(call('/docker')).rejects.toMatchObject({
      name: 'EngineError',
      status: 400,
      message: 'bad parameter',
    });
    await expect(call('/podman')).rejects.toThrow(EngineConflictError);
    await expect(call('/text')).rejects.toMatchObject({ status: 502, message: 'bad gateway' });
    await expect(call('/empty')).rejects.toMatchObject({ status: 500, message: 'the engine answered 500' });
    await expect(call('/html')).rejects.toThrow(EngineError);
  });

  it('takes an answer that breaks off for none', async () => {
    const transport = await serve((_request, response) => {
      response.setHeader('Content-Length', 100);
      response.write('{"a":');
      setTimeout(() => response.destroy(), 10);
    });
    await expect(transport.call({ method: 'GET', path: '/' })).rejects.toThrow(EngineUnavailableError);
    const stream = await transport.stream({ method: 'GET', path: '/' });
    await expect(async () => {
      for await (const chunk of stream) expect(chunk.toString()).toBe('{"a":');
    }).rejects.toThrow(EngineUnavailableError);
  });

  it('holds a deadline over a stream that never ends, or only over its start', async () => {
    const transport = await serve((_request, response) => {
      const timer = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(timer));
    });
    const drain = async (wholeDeadline: boolean, enough: number): Promise<number> => {
      let bytes = 0;
      for await (const chunk of await transport.stream({
        method: 'GET',
        path: '/',
        deadlineMs: 100,
        wholeDeadline,
      })) {
        bytes += chunk.length;
        if (bytes >= enough) break;
      }
      return bytes;
    };
    await expect(drain(true, Number.POSITIVE_INFINITY)).rejects.toThrow(/no answer in 100 ms/);
    expect(await drain(false, 40)).toBeGreaterThanOrEqual(40);
  });

  it('says what was called, without its query', async () => {
    const transport = new EngineTransport(socketPath);
    await expect(transport.call({ method: 'GET', path: '/images/create?fromImage=private' })).rejects.toThrow(
      /^GET \/images\/create: ENOENT$/,
    );
  });

  it('asks for the version again after an outage', async () => {
    const paths: (string | undefined)[] = [];
    const listener: RequestListener = (request, response) => {
      paths.push(request.url);
      response.end('[]');
    };
    await engineAnswering('1.41', listener);
    const engine = new DockerEngine(socketPath);
    await engine.list({ all: true });
    await close();
    await expect(engine.list({ all: true })).rejects.toThrow(EngineUnavailableError);
    await engineAnswering('1.43', listener);
    await engine.list({ all: true });
    expect(paths).toEqual([
      '/v1.41/containers/json?all=true&filters=%7B%7D',
      '/v1.43/containers/json?all=true&filters=%7B%7D',
    ]);
    await engineAnswering('1.24', listener);
    await expect(new DockerEngine(socketPath).list({ all: true })).rejects.toThrow(/older than 1.41/);
  });

  it('keeps values of the environment out of errors that quote them', async () => {
    await engineAnswering('1.41', (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        response.statusCode = 400;
        response.end(
          JSON.stringify({ message: `invalid: ${(JSON.parse(body) as { Env: string[] }).Env[0]}` }),
        );
      });
    });
    const spec: ContainerSpec = {
      name: 'web',
      image: 'web:1',
      env: [['PASSWORD', 'hidden-value']],
      labels: {},
      ownLabels: {},
      restart: { name: 'no' },
      mounts: [],
      ports: [],
    };
    const failure = await new DockerEngine(socketPath).createContainer(spec).catch((error: unknown) => error);
    expect(failure).toMatchObject({ status: 400, message: 'invalid: PASSWORD=[redacted]' });
    expect((failure as Error).stack).not.toContain('hidden-value');
    expect((failure as Error).cause).toBeUndefined();
  });
});
