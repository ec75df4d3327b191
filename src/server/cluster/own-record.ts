import { createHash, X509Certificate } from 'node:crypto';
import { hostname } from 'node:os';
import { withoutTrailing } from '../../core/model/text-end.ts';
import type { ControlPlaneRecord } from '../store/records.ts';
import type { OwnAddress } from './cluster.ts';
import { PROOF_FORM } from './peer-proof.ts';

const EVERY_ADDRESS = /^(?:0\.0\.0\.0|::)$/;

function urlOf({ host, port, advertiseUrl, certificate }: OwnAddress): string {
  if (advertiseUrl !== undefined) return advertiseUrl;
  const name = EVERY_ADDRESS.test(host) ? hostname() : host.includes(':') ? `[${host}]` : host;
  return `${certificate === undefined ? 'http' : 'https'}://${name}:${port}`;
}

export function certificateDigest(certificate: string): string {
  return createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
}

/** What the others read of this process. */
export function ownRecord(address: OwnAddress, startedAt: string, format: number): ControlPlaneRecord {
  const { nodeName, version, baseUrl, certificate } = address;
  const url = urlOf(address);
  return {
    nodeName,
    startedAt,
    version,
    url,
    agentUrl: baseUrl === undefined ? url : withoutTrailing(baseUrl, '/'),
    ...(certificate === undefined ? {} : { certificate: certificateDigest(certificate) }),
    proofForm: PROOF_FORM,
    format,
  };
}
