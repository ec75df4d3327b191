import { setTimeout as pause } from 'node:timers/promises';
import { type Client, type Json, named } from '../client.ts';
import { EXIT } from '../exit-code.ts';
import { planDeployment, writeDeployment } from '../deploying.ts';
import { Failure } from '../failure.ts';
import { textOf } from '../fields.ts';
import { lastLogLines } from '../log-source.ts';
import type { Step } from '../progress.ts';
import type { Session } from '../session.ts';
import { judge } from '../waiting.ts';
import type { ControlPlane } from './control-plane.ts';
import type { EngineSocket } from './engine-socket.ts';
import { SAMPLE_MARK, SAMPLE_PORT } from './sample-image.ts';

export const SAMPLE_NAME = 'hello';

const HEALTHY_MS = 120_000;
const CHECK_MS = 30_000;
const POLL_MS = 200;

function sampleBody(image: string, port: number, host: string | undefined): Json {
  return {
    kind: 'Deployment',
    name: SAMPLE_NAME,
    image,
    replicas: 1,
    ports: [{ container: SAMPLE_PORT, host: port }],
    ...(host === undefined ? {} : { ingress: [{ host, port: SAMPLE_PORT, tls: 'off' }] }),
    healthCheck: {
      type: 'exec',
      command: [`wget -qO /dev/null http://127.0.0.1:${SAMPLE_PORT}/`],
      interval: '2s',
      timeout: '10s',
      retries: 3,
    },
  };
}

/** Created on the first run, left alone when nothing changed, updated when the image or a port did. */
export async function deploySample(
  session: Session,
  { client }: ControlPlane,
  image: string,
  { port, host }: { readonly port: number; readonly host: string | undefined },
): Promise<string> {
  const planned = await planDeployment(client, SAMPLE_NAME, sampleBody(image, port, host));
  if (planned.action === 'unchanged') return textOf(planned.answer.specHash);
  const quiet: Session = { ...session, terminal: { ...session.terminal, out: () => undefined } };
  return textOf((await writeDeployment(quiet, client, planned)).specHash);
}

export async function awaitSample(
  session: Session,
  { client }: ControlPlane,
  engine: EngineSocket,
  specHash: string,
  step: Step,
): Promise<string> {
  for (
    const deadline = Date.now() + HEALTHY_MS;
    ;
    await pause(POLL_MS, undefined, { signal: session.interrupted })
  ) {
    const record = await client.record('GET /api/v1/deployments/{name}', named(SAMPLE_NAME));
    const judgement = judge(record, { name: SAMPLE_NAME, specHash });
    if (judgement.state === 'healthy' && (await isThere(client, engine, specHash))) return judgement.text;
    step.note(judgement.text);
    if (Date.now() > deadline) {
      const lines = await lastLogLines(client, SAMPLE_NAME, { tail: 10 });
      throw new Failure(`the sample did not get healthy: ${judgement.text}`, {
        exitCode: EXIT.notHealthy,
        advice: lines.map((line) => line.text),
      });
    }
  }
}

/** After a restart the control plane knows for a moment only what the agent of the run before said of containers that are gone. */
async function isThere(client: Client, engine: EngineSocket, specHash: string): Promise<boolean> {
  const instances = await client.list('GET /api/v1/deployments/{name}/instances', named(SAMPLE_NAME));
  const current = instances.filter((instance) => textOf(instance.specHash) === specHash);
  const running = await Promise.all(current.map((instance) => engine.runs(textOf(instance.containerId))));
  return running.length > 0 && running.every(Boolean);
}

/** The URL that is printed has answered, with the page that was asked for. */
export async function checkUrl(session: Session, url: string): Promise<void> {
  let seen = '';
  for (
    const deadline = Date.now() + CHECK_MS;
    Date.now() < deadline;
    await pause(POLL_MS, undefined, { signal: session.interrupted })
  ) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(3000) });
      const text = await answer.text();
      if (answer.ok && text.includes(SAMPLE_MARK)) return;
      seen = `status ${answer.status}`;
    } catch (error) {
      seen = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    }
  }
  throw new Failure(`${url} does not show the sample: ${seen}`, {
    exitCode: EXIT.notHealthy,
    advice: ['The container is healthy from inside; does a firewall or a proxy stand before the port?'],
  });
}
