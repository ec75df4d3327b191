/** `lost` is more than not ready: this node may not write it, so what writes must end. */
export type MountState =
  | { readonly kind: 'ready'; readonly source: string }
  | { readonly kind: 'waits' | 'lost'; readonly reason: string; readonly message: string };
