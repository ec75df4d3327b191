const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const integer = { type: 'integer' } as const;
const texts = { type: 'array', items: text } as const;
const textMap = { type: 'object', additionalProperties: text } as const;

const alterations = {
  type: 'array',
  description: 'What the server changed that the client did not send.',
  items: { type: 'object', properties: { field: text, from: text, to: text, why: text } },
} as const;

const warnings = {
  type: 'array',
  description: 'Stored, but to be known.',
  items: { type: 'object', properties: { code: text, field: text, why: text } },
} as const;

const imageDigest = {
  ...text,
  description:
    'What the registry had for the image when it was written: it is what runs. Absent: it could not be asked.',
} as const;

const status = {
  type: 'object',
  properties: {
    phase: { type: 'string', enum: ['Pending', 'Waiting', 'Progressing', 'Running', 'Degraded', 'Stopped'] },
    message: text,
    desired: integer,
    placed: integer,
    running: integer,
    healthy: integer,
    updated: integer,
    secretsVersion: integer,
    rotation: {
      type: 'object',
      properties: {
        phase: { type: ['string', 'null'] },
        next: text,
        delivered: {
          type: 'object',
          description: 'By path, while it lasts: the versions that containers are given.',
          additionalProperties: {
            type: 'object',
            properties: { current: integer, next: integer, previous: integer },
          },
        },
      },
    },
    canary: {
      type: 'object',
      description: 'While one runs; its instances are in no other count.',
      properties: {
        image: text,
        imageDigest,
        specHash: text,
        replicas: integer,
        placed: integer,
        running: integer,
        healthy: integer,
        message: text,
        createdAt: time,
      },
    },
    instances: { type: 'array', items: { type: 'object' } },
  },
} as const;

const scalingPolicy = {
  minReplicas: integer,
  maxReplicas: integer,
  targetCpuPercent: { type: 'number' },
  cooldown: text,
} as const;

const scalingPolicyRecord = {
  deployment: text,
  ...scalingPolicy,
  createdAt: time,
  updatedAt: time,
  revision: integer,
} as const;

const canary = {
  deployment: text,
  image: text,
  imageDigest,
  replicas: integer,
  specHash: text,
  stableSpecHash: text,
  createdAt: time,
  createdBy: text,
  status: {
    type: 'object',
    properties: { placed: integer, running: integer, healthy: integer, message: text },
  },
  spec: { $ref: '#/components/schemas/DeploymentDescription' },
  revision: integer,
} as const;

const announced = { alterations, warnings, removed: texts } as const;

const owned = {
  id: text,
  tenantId: text,
  revision: integer,
  specHash: text,
  imageDigest,
  createdAt: time,
  updatedAt: time,
  storedLabels: textMap,
  status,
} as const;

const jobStatus = {
  type: 'object',
  properties: {
    phase: {
      type: 'string',
      enum: ['Scheduled', 'Pending', 'Running', 'Retrying', 'Succeeded', 'Failed', 'Cancelled'],
    },
    message: text,
    nextRunAt: { type: ['string', 'null'], format: 'date-time' },
    runs: {
      type: 'array',
      description: 'Newest first, at most 20.',
      items: {
        type: 'object',
        properties: {
          id: text,
          trigger: { type: 'string', enum: ['created', 'manual', 'hook', 'schedule', 'catch-up'] },
          state: text,
          message: text,
          scheduledFor: time,
          createdAt: time,
          startedAt: time,
          finishedAt: time,
          retryAt: time,
          attempts: integer,
          exitCode: integer,
          reason: text,
          skipped: integer,
          nodeId: text,
          instanceId: text,
        },
      },
    },
  },
} as const;

const backupHeading = {
  id: text,
  deploymentName: text,
  version: integer,
  specHash: text,
  createdAt: time,
  createdBy: text,
  imported: { type: 'object', properties: { id: text, createdAt: time } },
} as const;

const backupContent = {
  type: 'object',
  properties: {
    spec: { type: 'object' },
    scalingPolicy: { type: ['object', 'null'], properties: scalingPolicy },
    canary: {
      type: ['object', 'null'],
      properties: { replicas: integer, spec: { type: 'object' } },
    },
    revisions: { type: 'array', items: { $ref: '#/components/schemas/Archive' } },
  },
} as const;

/** Responses by record; requests are described by their shapes. */
const hookRun = {
  type: 'object',
  description: 'The run of a job that a phase waits for; ask for the phase again.',
  properties: {
    hook: { type: 'string', enum: ['apply', 'revoke'] },
    job: text,
    run: text,
    state: text,
    message: text,
    swapped: { type: 'boolean', description: 'On the way back: the old values are made valid again.' },
  },
} as const;

export const RECORD_SCHEMAS = {
  Deployment: {
    description: 'The stored description, with what the server owns.',
    allOf: [{ $ref: '#/components/schemas/DeploymentDescription' }],
    properties: owned,
    unevaluatedProperties: true,
  },
  DeploymentWritten: {
    allOf: [{ $ref: '#/components/schemas/Deployment' }],
    properties: {
      alterations,
      warnings,
      removed: { ...texts, description: 'Everything that a replaced list or map lost.' },
      plan: { type: 'object' },
    },
  },
  Job: {
    description: 'The stored description, with what the server owns.',
    allOf: [{ $ref: '#/components/schemas/JobDescription' }],
    properties: { ...owned, status: jobStatus },
    unevaluatedProperties: true,
  },
  JobWritten: {
    allOf: [{ $ref: '#/components/schemas/Job' }],
    properties: {
      alterations,
      warnings,
      removed: texts,
      run: { ...text, description: 'Of run and cancel: the run it is about.' },
    },
  },
  ScalingPolicy: {
    type: 'object',
    properties: {
      ...scalingPolicyRecord,
      status: {
        type: ['object', 'null'],
        properties: {
          state: { type: 'string', enum: ['active', 'paused'] },
          message: text,
          replicas: integer,
          cpuPercent: { type: 'number' },
          measured: integer,
        },
      },
    },
  },
  ScalingPolicyWritten: { type: 'object', properties: { ...scalingPolicyRecord, ...announced } },
  Canary: { type: 'object', properties: canary },
  CanaryWritten: { type: 'object', properties: { ...canary, ...announced } },
  Tenant: {
    type: 'object',
    properties: {
      id: text,
      slug: text,
      name: text,
      createdAt: time,
      quota: { type: 'object' },
      usage: { type: 'object' },
    },
  },
  Token: {
    type: 'object',
    properties: {
      id: text,
      kind: text,
      tenantId: text,
      role: text,
      name: text,
      createdAt: time,
      createdBy: text,
      expiresAt: time,
      revokedAt: time,
      token: { ...text, description: 'Only in the answer that created it.' },
    },
  },
  Event: {
    type: 'object',
    properties: {
      id: text,
      at: time,
      kind: text,
      tenantId: text,
      subject: { type: 'object', properties: { kind: text, name: text } },
      message: text,
      details: { type: 'object' },
    },
  },
  Audit: {
    type: 'object',
    properties: {
      id: text,
      at: time,
      actor: text,
      role: text,
      tenantId: text,
      action: text,
      subject: { type: 'object' },
      result: text,
      requestId: text,
      source: text,
      forwardedFor: text,
    },
  },
  Archive: {
    type: 'object',
    properties: {
      version: integer,
      change: {
        type: 'string',
        enum: ['created', 'updated', 'rotated', 'rolled-back', 'restored', 'deleted'],
      },
      at: time,
      by: text,
      spec: { type: 'object' },
      specHash: text,
      imageDigest,
    },
  },
  ArchiveDifference: {
    type: 'object',
    properties: {
      name: text,
      from: { type: 'object' },
      to: { type: 'object' },
      differences: {
        type: 'array',
        items: { type: 'object', properties: { field: text, from: {}, to: {} } },
      },
    },
  },
  Backup: {
    type: 'object',
    properties: { ...backupHeading, revision: integer, content: backupContent, alterations, warnings },
  },
  BackupSummary: {
    type: 'object',
    properties: { ...backupHeading, image: text, revisions: integer, sizeBytes: integer },
  },
  BackupDocument: {
    type: 'object',
    properties: {
      format: text,
      formatVersion: integer,
      backup: {
        type: 'object',
        properties: {
          id: text,
          deploymentName: text,
          version: integer,
          createdAt: time,
          content: backupContent,
        },
      },
      sha256: text,
    },
  },
  Node: {
    type: 'object',
    properties: {
      id: text,
      name: text,
      tenantId: text,
      claims: texts,
      status: { type: 'string', enum: ['ready', 'failed'] },
      schedulable: { type: 'boolean' },
      controlPlane: { type: 'boolean' },
      labels: textMap,
      capacity: { type: 'object', properties: { cpu: { type: 'number' }, memoryBytes: integer } },
      requested: { type: 'object', properties: { cpu: { type: 'number' }, memoryBytes: integer } },
      engine: { type: 'object', properties: { kind: text, version: text } },
      platform: text,
      agentVersion: text,
      volumeEngines: { ...texts, description: 'What can keep volumes there, best first.' },
      features: { ...texts, description: 'What its agent can do beyond the first release.' },
      lastSeenAt: { type: ['string', 'null'], format: 'date-time' },
      nodeToken: { ...text, description: 'Only in the answer that enrolled it.' },
    },
  },
  Volume: {
    type: 'object',
    properties: {
      id: text,
      tenantId: text,
      name: text,
      class: { type: 'string', enum: ['ephemeral', 'replicated', 'object'] },
      type: { type: 'string', enum: ['volume', 'bind', 'tmpfs'] },
      phase: { type: 'string', enum: ['Pending', 'Materializing', 'Ready', 'Degraded', 'Deleting'] },
      message: { ...text, description: 'Why it is not Ready, or not as large as wanted.' },
      sizeBytes: { ...integer, description: 'What df shows in a container, as soon as it is measured.' },
      wantedSizeBytes: { ...integer, description: 'What was asked for.' },
      usedBytes: { type: ['integer', 'null'] },
      measuredAt: { type: ['string', 'null'], format: 'date-time' },
      primaryNodeId: { type: ['string', 'null'] },
      wantedReplicas: { ...integer, description: 'Copies wanted beside the primary.' },
      replicas: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            nodeId: text,
            state: { type: 'string', enum: ['syncing', 'live', 'failed'] },
            lagSeconds: { type: ['number', 'null'] },
            formerEpoch: {
              ...integer,
              description: 'It was the primary until then and may hold bytes of its own.',
            },
            misplaced: {
              ...text,
              description: 'Why it cannot take over, although it is kept: whose residency excludes its node.',
            },
          },
        },
      },
      accessMode: { type: 'string', enum: ['ReadWriteOnce'] },
      hostPath: text,
      epoch: { ...integer, description: 'Raised with every promotion.' },
      createdAt: time,
      consumers: {
        type: 'array',
        items: { type: 'object', properties: { deployment: text, job: text, readOnly: { type: 'boolean' } } },
      },
      revision: integer,
      alterations,
      warnings,
      removed: texts,
    },
  },
  Recommendation: {
    type: 'object',
    properties: {
      id: text,
      applicable: { type: 'boolean' },
      type: { type: 'string', enum: ['replication', 'capacity', 'cleanup'] },
      priority: { type: 'string', enum: ['critical', 'high', 'medium', 'low'] },
      volume_id: text,
      parameters: {
        type: 'object',
        properties: { action: text, target_replicas: integer, target_size_bytes: integer },
      },
      reason: text,
    },
  },
  Network: {
    type: 'object',
    properties: {
      name: text,
      driver: { type: 'string', enum: ['bridge'] },
      labels: textMap,
      internal: { type: 'boolean' },
      nodeId: text,
      tenantId: text,
      createdAt: time,
      revision: integer,
      status: {
        type: 'object',
        properties: { phase: { type: 'string', enum: ['Pending', 'Ready', 'Failed'] }, message: text },
      },
      alterations,
      warnings,
    },
  },
  JoinToken: {
    type: 'object',
    properties: {
      id: text,
      nodeName: text,
      createdAt: time,
      createdBy: text,
      expiresAt: time,
      token: { ...text, description: 'Only in the answer that created it.' },
      command: { ...text, description: 'The line to paste on the host.' },
    },
  },
  Instance: {
    type: 'object',
    properties: {
      id: text,
      deployment: text,
      nodeId: text,
      specHash: text,
      secretsVersion: integer,
      wanted: { type: 'string', enum: ['run', 'stop'] },
      attempt: integer,
      createdAt: time,
      state: text,
      health: text,
      reason: text,
      message: text,
      containerId: text,
      containerName: text,
      usage: {
        type: 'object',
        description: 'What the agent measured last; per cent of one core.',
        properties: { cpuPercent: { type: 'number' }, memoryBytes: integer },
      },
    },
  },
  Session: {
    type: 'object',
    properties: {
      tokenId: text,
      role: text,
      permissions: texts,
      tenant: { type: 'object', properties: { id: text, slug: text, name: text } },
      expiresAt: { ...time, description: 'Of a session.' },
      csrfToken: { ...text, description: 'Of a session: to be sent as X-CSRF-Token with every write.' },
    },
  },
  Secret: {
    type: 'object',
    properties: {
      path: text,
      keys: texts,
      version: integer,
      nextPhase: { ...text, description: 'Of its rotation.' },
      hooks: { type: 'object', properties: { apply: text, revoke: text } },
      hookRuns: { type: 'array', items: hookRun },
    },
  },
  CredentialHooked: {
    type: 'object',
    properties: {
      path: text,
      hooks: { type: 'object', properties: { apply: text, revoke: text } },
      warnings,
    },
  },
  CredentialRotated: {
    type: 'object',
    properties: {
      path: text,
      phase: text,
      next: text,
      version: { type: 'integer', description: 'In service: what containers outside the rotation receive.' },
      rotation: {
        type: 'object',
        description: 'While it lasts.',
        properties: { phase: text, next: integer, previous: integer },
      },
      hook: hookRun,
      consumers: {
        type: 'array',
        description: 'Deployments that were moved.',
        items: { type: 'object', properties: { deployment: text, secretsVersion: integer } },
      },
      warnings,
    },
  },
} as const;
