import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { Once } from '../../../core/model/once.ts';
import type { NodeLiveness } from '../../../core/model/node.ts';
import {
  beat,
  firstPulse,
  forgiveSilence,
  type JudgedNode,
  judgeNodes,
  LIVENESS_TIMINGS,
  type LivenessTimings,
  type LivenessVerdicts,
  type NodePulse,
  type NodeVerdict,
  noteFailure,
} from '../../../core/plan/liveness/node-liveness.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Liveness } from '../../runtime/liveness.ts';
import type { Controller, ControllerDeps } from '../controller.ts';
import { SessionsElsewhere } from './sessions-elsewhere.ts';

/** A loop that is due at longer intervals than it counts as late would always be late. */
function tickMs({ lateAfterMs }: LivenessTimings): number {
  return Math.min(1000, lateAfterMs / 5);
}
/** `lastSeenAt` is for people: a node that beats writes it this often, not with every beat, and once more when it has failed. */
const SEEN_EVERY_MS = 60_000;
/** Nodes per commit; each may write a record and an event. */
const NODES_PER_COMMIT = 40;

/** Up to this many nodes a sign of life is judged without a pause. */
const JUDGED_AT_ONCE = 100;
const MAX_JUDGE_PAUSE_MS = 250;

interface TenantPulses {
  readonly nodes: Map<NodeName, NodePulse>;
  /** Since when this process listens for the tenant. */
  readonly sinceMs: number;
  brake: boolean;
}

/**
 * Owns the node-liveness records. Beats only move a number in memory; a loop on the monotonic clock judges, and writes what
 * changed. A node that comes to life is judged at once.
 */
export class NodeLivenessController implements Controller, Liveness {
  readonly name = 'node-liveness';
  readonly #deps: ControllerDeps;
  readonly #timings: LivenessTimings;
  readonly #controlPlaneNode: NodeName | undefined;
  readonly #tenants = new Map<TenantId, TenantPulses>();
  readonly #judging: Once<TenantId>;
  readonly #urgent = new Set<TenantId>();
  readonly #hearing = new Set<TenantId>();
  readonly #seenWrittenMs = new Map<string, number>();
  readonly #elsewhere: SessionsElsewhere | undefined;
  #unsubscribe: (() => void) | undefined;
  #cancelTick: (() => void) | undefined;
  #lastTickMs: number;
  #running = false;

  constructor(deps: ControllerDeps, controlPlaneNode?: NodeName, timings = LIVENESS_TIMINGS) {
    this.#deps = deps;
    this.#timings = timings;
    this.#controlPlaneNode = controlPlaneNode;
    this.#lastTickMs = deps.clock.monotonicMs();
    this.#judging = new Once((tenantId) => this.#judge(tenantId), {
      onFault: (fault, tenantId) =>
        deps.log('node liveness could not be stored', { tenantId, fault: String(fault) }),
      again: (tenantId) => this.#judgeSoon(tenantId),
    });
    if (deps.controlPlane !== undefined)
      this.#elsewhere = new SessionsElsewhere(deps.store, deps.controlPlane);
  }

  start(): void {
    this.#running = true;
    this.#lastTickMs = this.#deps.clock.monotonicMs();
    this.#schedule();
    const elsewhere = this.#elsewhere;
    if (elsewhere === undefined) return;
    // A session that opens or closes elsewhere counts at once, not with the next tick.
    this.#unsubscribe = this.#deps.store.view.onChange(({ tenantId, kind }) => {
      if (kind !== 'node-sessions' || tenantId === undefined || !this.#deps.owns(tenantId)) return;
      if (this.#hearing.has(tenantId)) return;
      this.#hearing.add(tenantId);
      setImmediate(() => {
        this.#hearing.delete(tenantId);
        if (!this.#running || !this.#deps.owns(tenantId)) return;
        this.#hearElsewhere(elsewhere, tenantId);
        this.#judgeSoon(tenantId);
      });
    });
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#unsubscribe?.();
    this.#cancelTick?.();
    await this.#judging.ended();
    this.#tenants.clear();
    this.#seenWrittenMs.clear();
  }

  /** A fresh grace: silence is held against a node only while this process listened. */
  adopt(tenantId: TenantId): void {
    this.#tenants.delete(tenantId);
    if (this.#elsewhere !== undefined) this.#hearElsewhere(this.#elsewhere, tenantId);
  }

  abandon(tenantId: TenantId): void {
    this.#tenants.delete(tenantId);
  }

  status(): Record<string, unknown> {
    return { brakes: [...this.#tenants].filter(([, pulses]) => pulses.brake).map(([tenantId]) => tenantId) };
  }

  beat(tenantId: TenantId, node: NodeName): void {
    // The owner of the shard learns from the stored session that the agent is alive.
    if (!this.#deps.owns(tenantId)) return;
    const pulses = this.#pulses(tenantId);
    const nowMs = this.#deps.clock.monotonicMs();
    pulses.nodes.set(node, beat(pulses.nodes.get(node) ?? firstPulse(pulses.sinceMs), nowMs, this.#timings));
    const stored = this.#deps.store.forTenant(tenantId).get('node-liveness', idOf('node-liveness', node));
    if (stored?.record.status !== 'ready') this.#judgeSoon(tenantId);
  }

  sessionOpened(tenantId: TenantId, node: NodeName): void {
    this.beat(tenantId, node);
    this.#deps.clusters.setConnected(tenantId, node, true);
    if (!this.#deps.owns(tenantId)) return;
    const pulses = this.#pulses(tenantId);
    const { closedMs: _open, ...pulse } = pulses.nodes.get(node) ?? firstPulse(pulses.sinceMs);
    pulses.nodes.set(node, pulse);
  }

  sessionClosed(tenantId: TenantId, node: NodeName): void {
    if (!this.#deps.owns(tenantId)) return;
    const pulses = this.#pulses(tenantId);
    const pulse = pulses.nodes.get(node) ?? firstPulse(pulses.sinceMs);
    pulses.nodes.set(node, { ...pulse, closedMs: this.#deps.clock.monotonicMs() });
  }

  /** What other control planes stored of their sessions: an open one is a sign of life as long as its process lives. */
  #hearElsewhere(elsewhere: SessionsElsewhere, tenantId: TenantId): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { node, closedForMs } of elsewhere.of(tenantId)) {
      if (closedForMs === undefined) {
        this.sessionOpened(tenantId, node);
        continue;
      }
      const pulses = this.#pulses(tenantId);
      const pulse = pulses.nodes.get(node) ?? firstPulse(pulses.sinceMs);
      if (pulse.closedMs !== undefined) continue;
      const lastBeatMs = Math.min(pulse.lastBeatMs, nowMs - closedForMs);
      pulses.nodes.set(node, { ...pulse, lastBeatMs, closedMs: nowMs });
    }
  }

  #schedule(): void {
    if (!this.#running) return;
    this.#cancelTick = this.#deps.timers.after(tickMs(this.#timings), () => {
      this.#tick();
      this.#schedule();
    });
  }

  #tick(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const gapMs = nowMs - this.#lastTickMs;
    this.#lastTickMs = nowMs;
    if (gapMs > this.#timings.lateAfterMs) {
      this.#deps.log('the liveness loop was late; silence of that time is not held against nodes', { gapMs });
      for (const { nodes } of this.#tenants.values()) {
        for (const [name, pulse] of nodes) {
          nodes.set(name, forgiveSilence(pulse, nowMs, gapMs, this.#timings.failAfterMs));
        }
      }
    }
    for (const tenantId of this.#deps.store.view.tenantIds()) {
      if (this.#elsewhere !== undefined && this.#deps.owns(tenantId))
        this.#hearElsewhere(this.#elsewhere, tenantId);
      this.#judgeNow(tenantId);
    }
  }

  #judgeSoon(tenantId: TenantId): void {
    if (this.#urgent.has(tenantId)) return;
    this.#urgent.add(tenantId);
    const judge = (): void => {
      this.#urgent.delete(tenantId);
      this.#judgeNow(tenantId);
    };
    const size = this.#pulses(tenantId).nodes.size;
    // A judgement covers the whole tenant: when thousands reconnect at once, each one takes in many of them.
    if (size <= JUDGED_AT_ONCE) setImmediate(judge);
    else this.#deps.timers.after(Math.min(MAX_JUDGE_PAUSE_MS, size / 20), judge);
  }

  #judgeNow(tenantId: TenantId): void {
    if (!this.#running) return;
    if (!this.#deps.owns(tenantId)) {
      // The next owner of the shard starts with a fresh grace period, and so does this process when the shard returns.
      this.#tenants.delete(tenantId);
      return;
    }
    this.#judging.ask(tenantId);
  }

  async #judge(tenantId: TenantId): Promise<void> {
    const tenant = this.#deps.store.forTenant(tenantId);
    const pulses = this.#pulses(tenantId);
    const nodes = this.#judged(tenant, pulses);
    const nowMs = this.#deps.clock.monotonicMs();
    const verdicts = judgeNodes({
      nodes,
      nowMs,
      startedMs: pulses.sinceMs,
      brake: pulses.brake,
      timings: this.#timings,
    });
    for (const { name, connected } of verdicts.nodes)
      this.#deps.clusters.setConnected(tenantId, name, connected);
    const changed = verdicts.nodes.filter((one) => this.#isNews(tenant, one, nowMs));
    for (let at = 0; at < changed.length; at += NODES_PER_COMMIT) {
      await this.#store(tenant, pulses, changed.slice(at, at + NODES_PER_COMMIT), nowMs);
    }
    await this.#setBrake(tenant, pulses, verdicts);
    await this.#removeOrphans(tenant);
  }

  /** A node that is no longer enrolled has no liveness; its name may come back as another machine. */
  async #removeOrphans(tenant: TenantStore): Promise<void> {
    const enrolled = tenant.collection('nodes');
    const judged = tenant.collection('node-liveness');
    if (judged.size <= enrolled.size) return;
    const orphans = judged.ids().filter((id) => enrolled.get(id) === undefined);
    const transaction = tenant.transaction();
    for (const id of orphans.slice(0, NODES_PER_COMMIT)) {
      transaction.expect('nodes', id, undefined).delete('node-liveness', id);
    }
    if (orphans.length > 0) await tenant.commit(transaction);
  }

  /** Every enrolled node; one without a heartbeat since the start is silent since the start. */
  #judged(tenant: TenantStore, pulses: TenantPulses): readonly JudgedNode[] {
    const controlPlanes = new Set<string>(
      this.#deps.store.listGlobal('control-planes').map(({ record }) => record.nodeName),
    );
    if (this.#controlPlaneNode !== undefined) controlPlanes.add(this.#controlPlaneNode);
    const enrolled = tenant.collection('nodes');
    for (const name of pulses.nodes.keys())
      if (enrolled.get(idOf('nodes', name)) === undefined) pulses.nodes.delete(name);
    return enrolled.list().map(({ record: { name } }) => {
      const pulse = pulses.nodes.get(name) ?? firstPulse(pulses.sinceMs);
      pulses.nodes.set(name, pulse);
      const liveness = tenant.get('node-liveness', idOf('node-liveness', name))?.record;
      return {
        name,
        pulse,
        ...(liveness && { status: liveness.status }),
        lost: liveness?.lost === true,
        controlPlane: controlPlanes.has(name),
      };
    });
  }

  #isNews(tenant: TenantStore, verdict: NodeVerdict, nowMs: number): boolean {
    const stored = tenant.get('node-liveness', idOf('node-liveness', verdict.name))?.record;
    if (stored?.status !== verdict.status || (stored.lost === true) !== verdict.lost) return true;
    if (verdict.status !== 'ready') return false;
    const key = `${tenant.tenantId}/${verdict.name}`;
    const written = this.#seenWrittenMs.get(key);
    if (written === undefined) this.#seenWrittenMs.set(key, nowMs);
    return written !== undefined && nowMs - written >= SEEN_EVERY_MS;
  }

  async #store(
    tenant: TenantStore,
    pulses: TenantPulses,
    verdicts: readonly NodeVerdict[],
    nowMs: number,
  ): Promise<void> {
    const failed = verdicts.filter(({ name, status }) => {
      return (
        status === 'failed' &&
        tenant.get('node-liveness', idOf('node-liveness', name))?.record.status !== 'failed'
      );
    });
    const transaction = tenant.transaction();
    for (const verdict of verdicts)
      this.#addVerdict(tenant, transaction, verdict, this.#lastSeen(pulses.nodes.get(verdict.name), nowMs));
    const result = await tenant.commit(transaction);
    this.#deps.metrics.committed(this.name, result.ok ? 'ok' : 'conflict');
    // A conflict means that a node was re-enrolled or removed: the next tick judges the new state.
    if (!result.ok) return;
    for (const { name } of verdicts) this.#seenWrittenMs.set(`${tenant.tenantId}/${name}`, nowMs);
    for (const { name } of failed) {
      const pulse = pulses.nodes.get(name);
      if (pulse !== undefined) pulses.nodes.set(name, noteFailure(pulse, nowMs));
    }
  }

  /** Of its last beat; undefined: it was not heard since this process listens. */
  #lastSeen(pulse: NodePulse | undefined, nowMs: number): string | undefined {
    if (pulse?.heard !== true) return undefined;
    return new Date(this.#deps.clock.now().getTime() - (nowMs - pulse.lastBeatMs)).toISOString();
  }

  #addVerdict(
    tenant: TenantStore,
    transaction: Transaction,
    verdict: NodeVerdict,
    lastSeenAt: string | undefined,
  ): void {
    const id = idOf('node-liveness', verdict.name);
    const stored = tenant.get('node-liveness', id);
    const now = this.#deps.clock.now().toISOString();
    const sameStatus = stored?.record.status === verdict.status;
    const record: NodeLiveness = {
      status: verdict.status,
      lastSeenAt: lastSeenAt ?? stored?.record.lastSeenAt ?? now,
      since: sameStatus ? stored.record.since : now,
      ...(verdict.reason !== undefined && { reason: verdict.reason }),
      ...(verdict.lost && { lost: true }),
    };
    transaction
      .expect('nodes', id, tenant.get('nodes', id))
      .expect('node-liveness', id, stored)
      .put('node-liveness', id, record);
    if (sameStatus && !(verdict.lost && stored.record.lost !== true)) return;
    this.#deps.journal.event(transaction, tenant.tenantId, nodeEvent(verdict));
  }

  async #setBrake(
    tenant: TenantStore,
    pulses: TenantPulses,
    { brake, failing }: LivenessVerdicts,
  ): Promise<void> {
    if (brake === pulses.brake) return;
    const transaction = tenant.transaction();
    this.#deps.journal.event(transaction, tenant.tenantId, {
      kind: brake ? 'scheduler.brake_on' : 'scheduler.brake_off',
      subject: { kind: 'Tenant', name: tenant.tenantId },
      message: brake
        ? `${failing.length} nodes do not answer at once; their instances are not replaced until enough of them return: ${failing.join(', ')}`
        : 'enough nodes answer again; instances of lost nodes are replaced as usual',
      details: { nodes: failing },
    });
    const result = await tenant.commit(transaction);
    if (result.ok) pulses.brake = brake;
  }

  #pulses(tenantId: TenantId): TenantPulses {
    const known = this.#tenants.get(tenantId);
    if (known) return known;
    const pulses: TenantPulses = { nodes: new Map(), sinceMs: this.#deps.clock.monotonicMs(), brake: false };
    this.#tenants.set(tenantId, pulses);
    return pulses;
  }
}

function nodeEvent({ name, status, lost, reason }: NodeVerdict) {
  const kind = lost ? 'node.lost' : `node.${status}`;
  const standing = lost ? 'lost: its instances are replaced elsewhere' : status;
  return {
    kind,
    subject: { kind: 'Node', name },
    message: `node ${name} is ${standing}${reason === undefined ? '' : ` (${reason})`}`,
    details: { status, ...(reason !== undefined && { reason }) },
  } as const;
}
