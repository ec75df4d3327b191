import { pushImage, type Registry, startRegistry } from './registry.ts';

/** A registry with one small image: its answers are quick and kept, so that writes are not about registries. */
export interface PushedImageRegistry {
  readonly registry: Registry;
  readonly image: string;
  /** Settings of the control plane that let it ask this registry. */
  readonly config: { readonly 'registries.allowPrivate': readonly string[] };
  stop(): Promise<void>;
}

export async function startPushedImage(name = 'shop/web:1.4.2'): Promise<PushedImageRegistry> {
  const registry = await startRegistry();
  const { reference } = await pushImage(registry, name, { busybox: false });
  return {
    registry,
    image: reference,
    config: { 'registries.allowPrivate': [`http://${registry.host}`] },
    stop: () => registry.stop(),
  };
}
