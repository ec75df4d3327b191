import { dirname } from 'node:path';
import type {
  AgentMessage,
  AssignedContainer,
  AssignedInstance,
} from '../../core/protocol/agent-protocol.ts';
import { parseImageReference } from '../../core/model/image-reference.ts';
import { portRangesText, portsOutside } from '../../core/model/port-ranges.ts';
import { attachRest, firstNetwork } from '../networks/attachments.ts';
import type { Binds } from './binds.ts';
import type { ConfigFiles } from './config-files.ts';
import { instanceName } from '../../core/model/instance-name.ts';
import { containerSpec, type SpecSource, stopGraceS, type ContainerNetwork } from './container-spec.ts';
import type { Engine, EngineKind, RegistryCredentials } from '../engine/engine.ts';
import { EngineConflictError, EngineNotFoundError, ImagePullError } from '../engine/errors.ts';
import { optional } from '../../core/model/values.ts';
import { QUICK_BACK_OFF, SLOW_BACK_OFF, StepError } from './failures.ts';
import type { LoopState } from './loop-state.ts';
import { observedContainer } from './observed-container.ts';
import type { Observer } from './observe.ts';
import { networkLabels, networkName, OWN_LABELS, type Ownership } from './own-labels.ts';
import type { StepKind, StepOf } from './step.ts';
import type { Material, MaterialClient } from './material-client.ts';
import { madeBelow } from '../volumes/below.ts';

/** At most six tries in five minutes with what was refused (fault F-18). */
const SAME_CREDENTIAL_MS = 60_000;
const MAX_REFUSALS = 1_000;

interface PullRefusal {
  readonly credential: string;
  readonly atMs: number;
  readonly error: ImagePullError;
}

/** What the executors work with. */
export interface Workbench {
  readonly engine: Engine;
  readonly engineKind: EngineKind;
  readonly observer: Observer;
  readonly state: LoopState;
  readonly owner: Ownership;
  readonly resolver: MaterialClient;
  readonly binds: Binds;
  readonly files: ConfigFiles;
  readonly hostPorts: readonly string[] | undefined;
  readonly volume: SpecSource['volume'];
  /** By instance, from `resolve` to `create`. */
  readonly material: Map<string, Material>;
  /** Pulls under way, by image: instances that need the same one share it. */
  readonly pulls: Map<string, Promise<void>>;
  /** Pulls that a registry refused, by image, with the credential in memory: a corrected one is tried at once. */
  readonly refusals: Map<string, PullRefusal>;
  /** An image is here that was not before. */
  readonly onPulled: (image: string) => Promise<void>;
  /** The network that is being made, for all that need it. */
  readonly network: { made: Promise<void> | undefined };
  /** Of the tenant's mesh; undefined: this node does not take part. Throws while it is being set up. */
  readonly meshNetwork: () => Promise<ContainerNetwork | undefined>;
  readonly send: (message: AgentMessage) => boolean;
  readonly ordersKept: () => Promise<void>;
  readonly epoch: number;
}

type Executors = { readonly [K in StepKind]: (step: StepOf<K>, bench: Workbench) => Promise<void> };

/** One executor per step, by type. Each may run again after any crash: what is already so is left as it is. */
export const EXECUTORS: Executors = {
  ensureNetwork: async (_step, bench) => {
    bench.network.made ??= makeNetwork(bench).finally(() => {
      bench.network.made = undefined;
    });
    await bench.network.made;
  },

  pull: ({ image, instanceId }, bench) =>
    ensureImage(image, bench, () => pullCredentials(image, instanceId, bench)),

  resolve: async ({ instanceId }, { state, resolver, material }) => {
    const assigned = state.assigned.get(instanceId);
    if (assigned === undefined) return;
    material.set(instanceId, await resolver.resolve(assigned));
    state.history.set(instanceId, { ...state.historyOf(instanceId), resolvedAtMs: performance.now() });
  },

  create: async ({ instanceId, name }, bench) => {
    const { state } = bench;
    const assigned = state.assigned.get(instanceId);
    if (assigned?.container === undefined) return;
    state.reservedNames.set(name, instanceId);
    try {
      await create(name, assigned, assigned.container, bench);
    } finally {
      if (state.reservedNames.get(name) === instanceId) state.reservedNames.delete(name);
    }
  },

  start: async ({ instanceId, containerId }, bench) => {
    const { engine, observer, state, binds } = bench;
    await orGone(observer, containerId, async () => {
      await binds.holdAgain(instanceId);
      await refuseUnseen(instanceId, containerId, bench);
      if (state.assigned.get(instanceId)?.once !== undefined && !(await isUnstarted(observer, containerId)))
        return;
      const container = state.assigned.get(instanceId)?.container;
      if (container !== undefined) await attachRest(container, containerId, bench);
      const isPlain = container?.ports.length === 0 && container.healthCheck === undefined;
      // On the tenant's network every start brings an address.
      if (isPlain && state.network?.resolvConf === undefined) observer.expectStart(containerId);
      const known = observer.get(containerId);
      await engine.start(containerId).catch((error: unknown) => {
        // The engine does not say which part failed: the network is checked again before the next try.
        state.network = undefined;
        throw error;
      });
      await binds.started(instanceId, containerId, known?.status === 'exited');
      // Reported at once; the engine's event brings the rest (ports, health) a moment later, where there is any.
      const before = observer.get(containerId);
      if (state.assigned.get(instanceId)?.once !== undefined)
        state.history.set(instanceId, { ...state.historyOf(instanceId), wasStarted: true });
      // What ended at once may have been seen to end: that is newer.
      if (before !== undefined && (before === known || before.status === 'created')) {
        const { exitCode: _ended, address: _left, ...rest } = before;
        const startedAt = new Date().toISOString();
        observer.put({ ...rest, status: 'running', oomKilled: false, startedAt });
      }
    });
  },

  takeOver: async ({ instanceId, containerId }, { engine, observer, state, owner, binds }) => {
    const assigned = state.assigned.get(instanceId);
    if (assigned !== undefined) await binds.adopt(assigned, owner);
    await orGone(observer, containerId, async () => {
      const done = await engine.neverRestart(containerId);
      const before = observer.get(containerId);
      if (!done) binds.warnOfPolicy(before?.name ?? containerId);
      // Where that cannot be, it ends with the container's life: the next one is made without.
      if (before !== undefined) observer.put({ ...before, restartsItself: false });
    });
  },

  stop: async ({ instanceId, containerId }, { engine, observer, state, binds, ordersKept }) => {
    if (state.assigned.get(instanceId)?.wanted !== 'run') {
      await binds.forget(instanceId);
      await ordersKept();
    }
    await orGone(observer, containerId, async () => {
      const before = observer.get(containerId);
      await engine.stop(containerId, stopGraceS(before ?? {}));
      const now = observer.get(containerId) ?? before;
      if (now !== undefined) observer.put({ ...now, status: 'exited' });
    });
  },

  end: async ({ instanceId, containerId }, { engine, observer, state }) => {
    state.history.set(instanceId, { ...state.historyOf(instanceId), wasEnded: true });
    await orGone(observer, containerId, async () => {
      await engine.stop(containerId, stopGraceS(observer.get(containerId) ?? {}));
      // Its code is what the control plane waits for.
      await observer.refresh(containerId);
    });
  },

  restart: async ({ instanceId, containerId }, { engine, observer, state, binds }) => {
    const { unhealthySinceMs: _before, aloneRestarts = 0, ...rest } = state.historyOf(instanceId);
    state.history.set(instanceId, { ...rest, aloneRestarts: aloneRestarts + 1 });
    await orGone(observer, containerId, async () => {
      await binds.holdAgain(instanceId);
      await engine.restart(containerId, stopGraceS(observer.get(containerId) ?? {}));
      await observer.refresh(containerId);
    });
  },

  remove: async ({ instanceId, containerId }, { engine, observer, state, binds, files }) => {
    await orGone(observer, containerId, async () => {
      const force = observer.get(containerId)?.status === 'dead';
      try {
        await engine.remove(containerId, { force });
        observer.drop(containerId);
      } catch (error) {
        if (!(error instanceof EngineConflictError)) throw error;
        // Already being removed, or restarted from outside: the engine knows which.
        await observer.refresh(containerId);
        throw new StepError('container_remove_failed', error.message, QUICK_BACK_OFF);
      }
    });
    const isLast = !observer.byInstance.has(instanceId);
    if (!isLast || state.assigned.get(instanceId)?.wanted === 'run') return;
    await binds.release(instanceId);
    await files.release(instanceId);
  },

  healthcheckNow: async ({ instanceId, containerId }, { engine, observer, state }) => {
    state.history.set(instanceId, { ...state.historyOf(instanceId), checkedAtMs: performance.now() });
    await orGone(observer, containerId, async () => {
      await engine.healthcheckNow(containerId);
      await observer.refresh(containerId);
    });
  },

  ask: async ({ instanceIds }, { state, send, epoch }) => {
    for (const id of instanceIds) state.askedAtMs.set(id, performance.now());
    send({ type: 'ask', epoch, instanceIds });
  },
};

/**
 * Docker checks for a network of the same name and makes one, but not in one go: two at once, or one whose caller was killed,
 * leave two of a name, and then no container can start. What is too many and empty is removed.
 */
async function makeNetwork(bench: Workbench): Promise<void> {
  const mesh = await bench.meshNetwork();
  if (mesh === undefined) await makeLocalNetwork(bench);
  bench.state.network = mesh ?? { name: networkName(bench.owner) };
}

async function makeLocalNetwork({ engine, owner }: Workbench): Promise<void> {
  const labels = networkLabels(owner);
  const name = networkName(owner);
  const kept = await engine.ensureNetwork({ name, driver: 'bridge', internal: false, labels });
  const all = (await engine.listNetworks(labels)).filter((one) => one.name === name);
  for (const { id } of all) if (id !== kept.id) await removeIfUnused(engine, id);
}

async function removeIfUnused(engine: Engine, networkId: string): Promise<void> {
  try {
    await engine.removeNetwork(networkId);
  } catch (error) {
    if (!(error instanceof EngineConflictError) && !(error instanceof EngineNotFoundError)) throw error;
  }
}

/** Asked of the engine itself: an agent that was killed may have started it, and a second start would run a job twice. */
async function isUnstarted(observer: Observer, containerId: string): Promise<boolean> {
  await observer.refresh(containerId);
  return observer.get(containerId)?.status === 'created';
}

async function orGone(observer: Observer, containerId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    // Of a network or an image a 404 may also speak: only the container's own absence is no failure.
    if (!(error instanceof EngineNotFoundError)) throw error;
    await observer.refresh(containerId);
    if (observer.get(containerId) !== undefined) throw error;
  }
}

type Credentials = () => Promise<RegistryCredentials | undefined>;

async function ensureImage(image: string, bench: Workbench, credentials: Credentials): Promise<void> {
  const { engine, state, pulls } = bench;
  if (!(await engine.imageExists(image))) await (pulls.get(image) ?? startPull(image, bench, credentials));
  state.images.add(image);
}

/** Before an instance that needs it is here: its volume is about to come. */
export async function prepareImage(image: string, volumeId: string, bench: Workbench): Promise<void> {
  await ensureImage(image, bench, async () =>
    registryCredentials(image, await bench.resolver.resolveImage(volumeId, image)),
  );
}

function startPull(image: string, bench: Workbench, credentials: Credentials): Promise<void> {
  const { pulls } = bench;
  const pull = credentials()
    .then((known) => pullUnlessRefused(image, known, bench))
    .then(() => bench.onPulled(image))
    .finally(() => pulls.delete(image));
  pulls.set(image, pull);
  return pull;
}

/** A registry that said no is asked again for the same image when the credential is another one, or after a while. */
async function pullUnlessRefused(
  image: string,
  known: RegistryCredentials | undefined,
  { engine, refusals }: Workbench,
): Promise<void> {
  const credential = known === undefined ? '' : `${known.username}:${known.password}`;
  const before = refusals.get(image);
  if (before?.credential === credential && performance.now() - before.atMs < SAME_CREDENTIAL_MS)
    throw before.error;
  refusals.delete(image);
  await engine.pull(image, optional('credentials', known)).catch((error: unknown) => {
    if (error instanceof ImagePullError && error.reason === 'not-found' && image.includes('@'))
      throw gonePull(image, error);
    if (!(error instanceof ImagePullError) || error.reason !== 'unauthorized') throw error;
    const refused = refusedPull(image, known !== undefined, error);
    if (refusals.size >= MAX_REFUSALS) refusals.clear();
    refusals.set(image, { credential, atMs: performance.now(), error: refused });
    throw refused;
  });
}

/** "unauthorized", as engines say it, names neither the image nor what to mend. */
function refusedPull(image: string, known: boolean, error: ImagePullError): ImagePullError {
  const parsed = parseImageReference(image);
  const path = `registries/${parsed.ok ? parsed.reference.registry : '<host>'}`;
  const what = known
    ? `refuses the credential stored at ${path}`
    : `wants a credential, and none is stored at ${path}`;
  return new ImagePullError(`${image}: the registry ${what} (${error.message})`, error.status);
}

/** A registry removes what no tag names any more; only what was written again can run then. */
function gonePull(image: string, error: ImagePullError): ImagePullError {
  return new ImagePullError(
    `${image} is not found in the registry and not on this node: push that image again, or write the deployment or job with its image again, which takes what the tag is now (${error.message})`,
    error.status,
  );
}

/** A registry may want credentials although the container needs no secrets; without an answer the pull shows whether it does. */
async function pullCredentials(
  image: string,
  instanceId: string,
  { material, refusals, state, resolver }: Workbench,
): Promise<RegistryCredentials | undefined> {
  const assigned = state.assigned.get(instanceId);
  // After a refusal the credential may have been corrected since the material was resolved.
  let known = refusals.has(image) ? undefined : material.get(instanceId);
  if (known === undefined && assigned !== undefined) {
    known = await resolver.resolve(assigned).catch((error: unknown) => {
      if (error instanceof StepError) return undefined;
      throw error;
    });
  }
  return registryCredentials(image, known);
}

function registryCredentials(image: string, material: Material | undefined): RegistryCredentials | undefined {
  const parsed = parseImageReference(image);
  if (material?.registry === undefined || !parsed.ok) return undefined;
  return { ...material.registry, serverAddress: parsed.reference.registry };
}

async function create(
  name: string,
  assigned: AssignedInstance,
  container: AssignedContainer,
  bench: Workbench,
): Promise<void> {
  const { engine, observer, owner, binds, files, hostPorts, volume, material, state } = bench;
  const { environment: secrets, files: wantedFiles = [] } = material.get(assigned.id) ?? {};
  if (container.needsSecrets && secrets === undefined) return forgetSecrets(assigned.id, bench);
  refusePorts(container, hostPorts);
  await binds.hold(assigned, owner);
  const spec = containerSpec({
    name,
    assigned,
    container,
    secrets: secrets ?? {},
    owner,
    network: await firstNetwork(container, state.network ?? { name: networkName(owner) }, bench),
    heldFolder: binds.folder,
    volume,
    files: await files.write(assigned.id, container.hasFiles === true ? wantedFiles : []),
  });
  try {
    const id = await engine.createContainer(spec);
    const { id: instanceId, specHash, secretsVersion, attempt } = assigned;
    const labels = { instanceId, installId: owner.installId, specHash, secretsVersion, attempt };
    const { restart, mounts } = spec;
    observer.put({
      id,
      name,
      ...labels,
      status: 'created',
      oomKilled: false,
      restarts: 0,
      restartsItself: restart.name !== 'no',
      ...optional('stopGraceS', spec.stopTimeoutS),
      binds: mounts.flatMap((mount) => (mount.kind === 'bind' ? mount.source : [])),
      ports: [],
    });
    forgetSecrets(instanceId, bench);
  } catch (error) {
    if (error instanceof EngineConflictError) return await settleName(name, assigned, bench);
    if (error instanceof EngineNotFoundError) {
      // The image or the network was removed since it was checked.
      state.images.delete(container.image);
      state.network = undefined;
    }
    throw error;
  }
}

/** Docker refuses a path that it does not find; Podman makes it, and the container would write beside the volume. */
async function refuseUnseen(
  instanceId: string,
  containerId: string,
  { engine, engineKind, observer, state: { assigned }, volume }: Workbench,
): Promise<void> {
  if (engineKind !== 'podman') return;
  for (const { kind, volumeId } of assigned.get(instanceId)?.container?.mounts ?? []) {
    const state = kind === 'volume' ? volume(volumeId) : undefined;
    if (state?.kind !== 'ready') continue;
    const mountPoint = dirname(state.source);
    const made = await madeBelow(mountPoint);
    if (made === undefined) continue;
    await engine.remove(containerId, { force: true });
    observer.drop(containerId);
    const message = `the engine does not see ${mountPoint} mounted, and ${made} is on the disk below it: run the agent with the engine's view of mounts (no ProtectSystem, PrivateTmp or the like for its unit or the engine's)`;
    throw new StepError('volume_not_seen', message, SLOW_BACK_OFF);
  }
}

/** The control plane places by the same list; one that is older or hostile may not. */
function refusePorts({ ports }: AssignedContainer, allowed: readonly string[] | undefined): void {
  const outside = portsOutside(
    ports.flatMap(({ host }) => host ?? []),
    allowed,
  );
  if (outside.length === 0) return;
  const message = `host port ${outside.join(', ')} is not allowed on this node, which allows ${portRangesText(allowed)} (--host-ports)`;
  throw new StepError('host_port_not_allowed', message, SLOW_BACK_OFF);
}

function forgetSecrets(instanceId: string, { material, state }: Workbench): void {
  material.delete(instanceId);
  const { resolvedAtMs: _gone, ...rest } = state.historyOf(instanceId);
  state.history.set(instanceId, rest);
}

/**
 * The name is taken. By a container of this agent: it is recorded, and the next plan keeps it, removes it or
 * chooses the other name. By a foreign one: it is left alone, and the other name is chosen.
 */
async function settleName(name: string, assigned: AssignedInstance, bench: Workbench): Promise<void> {
  const { engine, observer, owner, state } = bench;
  const holder = await engine.inspect(name).catch((error: unknown) => {
    if (error instanceof EngineNotFoundError) return undefined;
    throw error;
  });
  const ours =
    holder?.labels[OWN_LABELS.node] === owner.node && holder.labels[OWN_LABELS.install] === owner.installId;
  const seen = ours && holder !== undefined ? observedContainer(holder, undefined, new Date()) : undefined;
  if (seen !== undefined) observer.put(seen);
  else if (holder !== undefined) state.foreignNames.add(name);
  if (seen?.instanceId === assigned.id) return;
  if (holder !== undefined && name !== instanceName(assigned.deployment, assigned.id)) return;
  const by =
    holder === undefined
      ? 'by a container that is just going'
      : `by container ${holder.id.slice(0, 12)} (${holder.image})`;
  throw new StepError('name_conflict', `the name ${name} is taken on this node ${by}`, QUICK_BACK_OFF);
}
