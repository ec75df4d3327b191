import type { DeploymentSpec } from './deployment.ts';

/** A changed spec that runs beside the stable one. Written by requests; removed by requests and by the instances controller. */
export interface CanaryRecord {
  /** Whole. `replicas` and `update` in it are those of the deployment. */
  readonly spec: DeploymentSpec;
  readonly specHash: string;
  readonly imageDigest?: string;
  readonly replicas: number;
  /** Percent of new connections; absent: as many as its instances make up. */
  readonly weight?: number;
  /** Of the spec it was started beside: when the deployment gets another one, the comparison is over. */
  readonly stableSpecHash: string;
  readonly createdAt: string;
  readonly createdBy: string;
}
