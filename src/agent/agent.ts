import type { KeyObject } from 'node:crypto';
import type { AgentMessage, Farewell, Welcome } from '../core/contract/agent-protocol.ts';
import type { Engine, EngineInfo } from './engine/engine.ts';
import type { Identity } from './identity.ts';
import type { Log } from './log.ts';
import { Loop } from './loop.ts';
import { type NodeFacts, nodeFacts } from './node-facts.ts';
import { ownership } from './own-labels.ts';
import { Reporter } from './reporter.ts';
import { Session, type SessionMessage } from './session.ts';
import { Streams } from './streams.ts';
import { UsageMeter } from './usage.ts';

const INFO_DEADLINE_MS = 5_000;

export interface AgentOptions {
  readonly engine: Engine;
  readonly info: EngineInfo;
  readonly identity: Identity;
  readonly key: KeyObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly bindRoots: readonly string[];
  readonly version: string;
  readonly log: Log;
  readonly onFirstWelcome: (facts: NodeFacts) => void;
  readonly onServers: (servers: readonly string[]) => void;
}

/** Joins the parts: the session's messages go to loop and streams, what they see goes through the reporter back. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #session: Session;
  readonly #loop: Loop;
  readonly #reporter: Reporter;
  readonly #streams: Streams;
  #facts: NodeFacts;
  #welcomed = false;

  constructor(options: AgentOptions) {
    const { engine, info, identity, key, log } = options;
    this.#options = options;
    this.#facts = nodeFacts(info, options.labels, options.version);
    const send = (message: AgentMessage): boolean => this.#session.send(message);
    this.#session = new Session({
      identity,
      key,
      log,
      facts: () => this.#readFacts(),
      onServers: options.onServers,
      handlers: {
        onWelcome: (welcome) => this.#begin(welcome),
        onMessage: (message) => this.#take(message),
        onLost: () => this.#end(),
      },
    });
    this.#loop = new Loop({
      engine,
      engineKind: info.kind,
      cpus: info.cpus,
      node: identity.nodeName,
      bindRoots: options.bindRoots,
      send,
      onChange: (id) => this.#reporter.changed(id),
      onEngineProblem: () => this.#reporter.engineChanged(),
      onFirstLook: () => this.#reporter.becameWhole(),
      log,
    });
    this.#reporter = new Reporter(
      {
        observation: (id) => this.#loop.observation(id),
        observations: () => this.#loop.observations(),
        isWhole: () => this.#loop.observer.looked,
        generation: () => this.#loop.state.generation,
        engineProblem: () => this.#loop.observer.problem,
      },
      send,
    );
    this.#streams = new Streams({ engine, containerOf: (id) => this.#containerOf(id), send, log });
  }

  /** Until `signal`, or until the control plane dismisses the node. Containers are left running in both cases. */
  async run(signal: AbortSignal): Promise<Farewell | undefined> {
    const stop = new AbortController();
    const all = AbortSignal.any([signal, stop.signal]);
    new UsageMeter(
      this.#options.engine,
      () => [...this.#loop.observer.all()].filter(({ status }) => status === 'running'),
      (usage) => this.#reporter.measured(usage),
    ).run(all);
    const looping = this.#loop.run(all);
    const farewell = await this.#session.run(signal);
    stop.abort();
    await looping;
    return farewell;
  }

  /** The engine may have been upgraded or its machine changed since the last session. */
  async #readFacts(): Promise<NodeFacts> {
    const { engine, labels, version } = this.#options;
    try {
      this.#facts = nodeFacts(await engine.info({ deadlineMs: INFO_DEADLINE_MS }), labels, version);
    } catch {
      // The last known facts; that the engine is away is in the report.
    }
    return this.#facts;
  }

  #begin(welcome: Welcome): void {
    const { log, identity, onFirstWelcome } = this.#options;
    this.#loop.begin(ownership(identity.nodeName, welcome), welcome.epoch);
    this.#reporter.begin(welcome.epoch, welcome.heartbeatMs);
    log.info('session with the control plane', { epoch: welcome.epoch, tenant: welcome.tenantSlug });
    if (!this.#welcomed) onFirstWelcome(this.#facts);
    this.#welcomed = true;
  }

  #end(): void {
    this.#loop.end();
    this.#reporter.end();
    this.#streams.end();
  }

  #take(message: SessionMessage): void {
    switch (message.type) {
      case 'assignment':
        return this.#loop.assign(message);
      case 'lease':
        return; // No engine that writes under a lease is here yet.
      case 'verdict':
        return this.#loop.condemn(message);
      case 'resolved':
        return this.#loop.answer(message);
      case 'request':
        return this.#streams.open(message);
      case 'credit':
        return this.#streams.credit(message.streamId, message.bytes);
      case 'cancel':
        return this.#streams.cancel(message.streamId);
    }
  }

  /** Only containers of this control plane's, the running one first. */
  #containerOf(instanceId: string): string | undefined {
    const { owner } = this.#loop.state;
    const mine = (this.#loop.observer.byInstance.get(instanceId) ?? []).filter(
      (one) => one.installId === owner?.installId,
    );
    return (mine.find(({ status }) => status === 'running') ?? mine[0])?.id;
  }
}
