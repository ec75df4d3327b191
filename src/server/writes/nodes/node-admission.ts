import type { NodeSources } from '../../reads/node.ts';
import type { Admission } from '../admission.ts';

export interface NodeAdmission {
  readonly admission: Admission;
  readonly tokenKey: Buffer;
  readonly nodes: NodeSources;
}
