import { isOfDeployment, ownerOf } from '../../../src/core/model/owner.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';
import type {
  AssignedInstance,
  Assignment,
  ServerMessage,
} from '../../../src/core/protocol/agent-protocol.ts';
import { type Environment, FollowingAgent, running } from './following-agent.ts';
import type { ScriptedAgent } from './scripted-agent.ts';

/** A container that a node was told to make, with the variables it was given. */
interface Held {
  readonly owner: string;
  readonly env: Environment;
  readonly exitCode: number | undefined;
}

const ENDINGS = ['', '_NEXT', '_PREVIOUS'] as const;

/**
 * A node beside a database of roles: containers of deployments are its clients, containers of jobs change it. Whatever it is
 * told to run, it asks for the material first, as an agent does, and runs at once.
 */
export class DatabaseAgent extends FollowingAgent {
  /** Password of every role that may log in. */
  readonly roles = new Map<string, string>();
  /** Clients that were seen without any valid login, in words. */
  readonly lockedOut: string[] = [];
  /** What every run of a job was given, in order. */
  readonly runs: { readonly job: string; readonly env: Environment }[] = [];
  /** What a job does to the roles, and its exit code; undefined: it runs until `end` is called. */
  job: (name: string, env: Environment, roles: Map<string, string>) => number | undefined = () => 0;
  output = '';
  readonly #held = new Map<string, Held>();

  constructor(agent: ScriptedAgent) {
    super();
    this.follow(agent);
  }

  /** Variables of the running containers of a deployment. */
  clients(deployment: string): readonly Environment[] {
    return [...this.#held.values()].filter(({ owner }) => owner === deployment).map(({ env }) => env);
  }

  /** Jobs that still run end well. */
  end(): void {
    for (const [id, held] of this.#held)
      if (!isOfDeployment(held.owner)) this.#held.set(id, { ...held, exitCode: held.exitCode ?? 0 });
    this.report();
  }

  protected override onAssignment({ instances }: Assignment): void {
    const wanted = instances.filter((one) => one.wanted === 'run');
    const ids = new Set<string>(wanted.map(({ id }) => id));
    for (const id of this.#held.keys()) if (!ids.has(id)) this.#held.delete(id);
    for (const one of wanted) if (!this.#held.has(one.id)) this.ask(one);
  }

  protected override onMessage(message: ServerMessage): void {
    if (message.type !== 'request' || message.operation.kind !== 'logs') return;
    const { streamId } = message;
    this.send({ type: 'data', streamId, text: this.output, channel: 'stdout' });
    this.send({ type: 'end', streamId });
  }

  protected override onMaterial(one: AssignedInstance, env: Environment): void {
    const { kind, name } = ownerOf(one.deployment);
    if (kind === 'job') this.runs.push({ job: name, env });
    const exitCode = kind === 'job' ? this.job(name, env, this.roles) : undefined;
    this.#held.set(one.id, { owner: one.deployment, env, exitCode });
    this.#look();
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

  protected override observed(one: AssignedInstance): InstanceObservation {
    const held = this.#held.get(one.id);
    if (held === undefined) return { id: one.id as InstanceObservation['id'], phase: 'creating' };
    return held.exitCode === undefined
      ? { ...running(one), health: 'healthy' }
      : { ...running(one), phase: 'exited', exitCode: held.exitCode };
  }
}
