import type { ImageSignature } from './signature.ts';

/** What the registry has as signatures of a digest, or why that is not known. */
export type SignatureOutcome =
  | { readonly kind: 'read'; readonly signatures: readonly ImageSignature[] }
  | { readonly kind: 'unreadable'; readonly why: string };

/** `why` is for the tenant: it holds no credential, and no address that the tenant did not write. */
export type ImageOutcome =
  | { readonly kind: 'found'; readonly digest: string; readonly platforms?: readonly string[] }
  | { readonly kind: 'missing'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly why: string }
  | {
      readonly kind: 'credential_store_unavailable';
      readonly why: string;
      /** It answers and refuses: asking again does not help. */
      readonly denied?: true;
    };
