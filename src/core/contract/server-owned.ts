/** Fields of a workload that only the control plane writes. A body that was read back may carry them. */
export const SERVER_OWNED = [
  'id',
  'tenantId',
  'revision',
  'specHash',
  'imageDigest',
  'createdAt',
  'updatedAt',
  'status',
  'storedLabels',
  'containerDefaults',
] as const;
