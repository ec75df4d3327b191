import { isOfDeployment, ownerOf } from '../../../src/core/model/owner.ts';
import type { AssignedInstance, ServerMessage } from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

type Env = Readonly<Record<string, string>>;

/** A container that a node was told to make, with the variables it was given. */
interface Held {
  readonly owner: string;
  readonly env: Env;
  readonly exitCode: number | undefined;
}

const ENDINGS = ['', '_NEXT', '_PREVIOUS'] as const;

/**
 * A node beside a database of roles: containers of deployments are its clients, containers of jobs change it. Whatever it is
 * told to run, it asks for the material first, as an agent does, and runs at once.
 */
export class DatabaseAgent {
  /** Password of every role that may log in. */
  readonly roles = new Map<string, string>();
  /** Clients that were seen without any valid login, in words. */
  readonly lockedOut: string[] = [];
  /** What every run of a job was given, in order. */
  readonly runs: { readonly job: string; readonly env: Env }[] = [];
  /** What a job does to the roles, and its exit code; undefined: it runs until `end` is called. */
  job: (name: string, env: Env, roles: Map<string, string>) => number | undefined = () => 0;
  output = '';
  readonly #agent: ScriptedAgent;
  readonly #held = new Map<string, Held>();
  readonly #asked = new Map<string, AssignedInstance>();
  #assigned: readonly AssignedInstance[] = [];
  #generation = 0;
  #requests = 0;

  constructor(agent: ScriptedAgent) {
    this.#agent = agent;
    agent.socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as ServerMessage));
    for (const message of agent.received) this.#take(message);
  }

  /** Variables of the running containers of a deployment. */
  clients(deployment: string): readonly Env[] {
    return [...this.#held.values()].filter(({ owner }) => owner === deployment).map(({ env }) => env);
  }

  /** Jobs that still run end well. */
  end(): void {
    for (const [id, held] of this.#held)
      if (!isOfDeployment(held.owner)) this.#held.set(id, { ...held, exitCode: held.exitCode ?? 0 });
    this.#report();
  }

  #take(message: ServerMessage): void {
    if (message.type === 'assignment') {
      this.#assigned = message.instances;
      this.#generation = message.generation;
      for (const one of message.instances) this.#follow(one);
      const known = new Set(message.instances.map(({ id }) => id));
      for (const id of this.#held.keys()) if (!known.has(id)) this.#held.delete(id);
      this.#report();
    } else if (message.type === 'resolved') {
      this.#made(message);
    } else if (message.type === 'request' && message.operation.kind === 'logs') {
      const { streamId } = message;
      this.#agent.send({ type: 'data', streamId, text: this.output, channel: 'stdout' });
      this.#agent.send({ type: 'end', streamId });
    }
  }

  #follow(one: AssignedInstance): void {
    if (one.wanted === 'stop') {
      this.#held.delete(one.id);
      return;
    }
    if (this.#held.has(one.id) || [...this.#asked.values()].some(({ id }) => id === one.id)) return;
    const requestId = `r${(this.#requests += 1)}`;
    const { id: instanceId, specHash, secretsVersion } = one;
    this.#asked.set(requestId, one);
    this.#agent.send({ type: 'resolve', requestId, instanceId, specHash, secretsVersion });
  }

  #made(answer: Extract<ServerMessage, { readonly type: 'resolved' }>): void {
    const one = this.#asked.get(answer.requestId);
    this.#asked.delete(answer.requestId);
    if (one === undefined || !answer.ok) return;
    const { environment: env } = answer;
    const { kind, name } = ownerOf(one.deployment);
    if (kind === 'job') this.runs.push({ job: name, env });
    const exitCode = kind === 'job' ? this.job(name, env, this.roles) : undefined;
    this.#held.set(one.id, { owner: one.deployment, env, exitCode });
    this.#look();
    this.#report();
  }

  /** A login with any of the pairs that the container holds, as a program that tries them all. */
  #look(): void {
    for (const { owner, env } of this.#held.values()) {
      if (!isOfDeployment(owner)) continue;
      const pairs = ENDINGS.map((end) => [env[`DB_user${end}`], env[`DB_password${end}`]] as const);
      const known = pairs.filter(([user]) => user !== undefined);
      const isIn = known.some(([user = '', password]) => this.roles.get(user) === password);
      if (known.length > 0 && !isIn)
        this.lockedOut.push(`${owner}: ${known.map(([user]) => user).join(', ')}`);
    }
  }

  #report(): void {
    if (this.#agent.socket.readyState !== this.#agent.socket.OPEN) return;
    const observations = this.#assigned.flatMap((one): InstanceObservation[] => {
      const id = one.id as InstanceObservation['id'];
      if (one.wanted === 'stop') return [{ id, phase: 'removed' }];
      const held = this.#held.get(one.id);
      if (held === undefined) return [{ id, phase: 'creating' }];
      const { specHash, secretsVersion } = one;
      const container = { id, containerId: `c-${one.id}`, specHash, secretsVersion };
      return held.exitCode === undefined
        ? [{ ...container, phase: 'running', health: 'healthy' }]
        : [{ ...container, phase: 'exited', exitCode: held.exitCode }];
    });
    const { epoch } = this.#agent;
    this.#agent.send({ type: 'report', epoch, generation: this.#generation, full: true, observations });
  }
}
