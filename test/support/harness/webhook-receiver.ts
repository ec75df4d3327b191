import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from './caller.ts';
import { Program } from './program.ts';

const RECEIVER = join(import.meta.dirname, '../agents/webhook-receiver.ts');
const KEY = 'a key of sixteen or more characters';
const STARTED_MS = 20_000;

export interface TakenEvent {
  readonly path: string;
  readonly id: string;
  readonly isSigned: boolean;
  readonly event: {
    readonly id: string;
    readonly subject: string;
    readonly data: { readonly kind: string; readonly details: Readonly<Record<string, unknown>> };
  };
}

/** A receiver that can be killed and started again on its port; what it took outlives it. */
export class WebhookReceiver {
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-receiver-'));
  #program: Program | undefined;
  port = 0;

  async start(): Promise<this> {
    const line = [process.execPath, RECEIVER, String(this.port), this.#file, KEY];
    const program = new Program(line, process.env);
    this.#program = program;
    this.port = await program.until('the receiver', STARTED_MS, () => {
      const [, port] = /listening on (\d+)/.exec(program.said) ?? [];
      return port === undefined ? undefined : Number(port);
    });
    return this;
  }

  get #file(): string {
    return join(this.#folder, 'taken');
  }

  /** What a control plane needs to call it. */
  get environment(): Readonly<Record<string, string>> {
    return { BERTH_WEBHOOKS_ALLOW_PRIVATE: `http://127.0.0.1:${this.port}` };
  }

  /** Every request, in the order in which they came, repeated ones too. */
  taken(path?: string): readonly TakenEvent[] {
    if (!existsSync(this.#file)) return [];
    return readFileSync(this.#file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): TakenEvent => JSON.parse(line))
      .filter((one) => path === undefined || one.path === path);
  }

  /** The webhook, with its key. */
  async subscribe(call: Caller, name: string, events: object): Promise<void> {
    const written = await call('PUT', '/api/v1/secrets/resources/hooks', { values: { key: KEY } });
    if (written.status >= 300) throw new Error(JSON.stringify(written.body));
    const url = `http://127.0.0.1:${this.port}/${name}`;
    const signing = { vault_path: 'resources/hooks' };
    const made = await call('POST', '/api/v1/webhooks', { name, url, events, signing });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }

  async kill(): Promise<void> {
    await this.#program?.end('SIGKILL');
  }

  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Events by number: each is the change of a webhook that sends nothing, whose host has the number. One whose answer was lost is written again, so that a
 * number may have two events, and is never passed over.
 */
export class NumberedEvents {
  readonly #call: () => Caller;
  acknowledged = 0;

  constructor(call: () => Caller) {
    this.#call = call;
  }

  static readonly filter = { kinds: ['webhook.updated'], subjects: ['Webhook/source'] };

  async prepare(): Promise<void> {
    const source = {
      name: 'source',
      url: 'https://n0.example.com/',
      events: { kinds: ['nothing.at-all'] },
      signing: { vault_path: 'resources/hooks' },
      paused: true,
    };
    const made = await this.#call()('POST', '/api/v1/webhooks', source);
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }

  async write(): Promise<void> {
    const url = `https://n${this.acknowledged + 1}.example.com/`;
    const status = await this.#call()('PUT', '/api/v1/webhooks/source', { url }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) this.acknowledged += 1;
  }
}

export function numberOf({ event }: TakenEvent): number {
  return Number(/^n(\d+)\./.exec(String(event.data.details['host']))?.[1]);
}

/** Each once, as it first came; throws when one came again as something else. */
export function firstOfEach(taken: readonly TakenEvent[]): readonly TakenEvent[] {
  const first = new Map<string, TakenEvent>();
  for (const one of taken) {
    const known = first.get(one.id);
    if (!one.isSigned || one.event.id !== one.id) throw new Error(`not signed: ${JSON.stringify(one)}`);
    if (known === undefined) first.set(one.id, one);
    else if (JSON.stringify(known.event) !== JSON.stringify(one.event))
      throw new Error(`${one.id} came twice and differs`);
  }
  return [...first.values()];
}
