/** Whether a credential may ever be minted again. */
export type SecretAnchor =
  | { readonly kind: 'process' }
  | { readonly kind: 'external' }
  | { readonly kind: 'volume'; readonly volumeId: string };

const VOLUME_ANCHOR = /^volume\(([A-Za-z0-9][A-Za-z0-9_-]{0,127})\)$/;

/** Undefined: none of the three forms. */
export function parseAnchor(text: string): SecretAnchor | undefined {
  if (text === 'process' || text === 'external') return { kind: text };
  const volumeId = VOLUME_ANCHOR.exec(text)?.[1];
  return volumeId === undefined ? undefined : { kind: 'volume', volumeId };
}
