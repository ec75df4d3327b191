/** The closed set of what the agent does. `steps.ts` has one executor for each. */
export type Step =
  | { readonly kind: 'ensureNetwork'; readonly instanceId: string }
  | { readonly kind: 'pull'; readonly instanceId: string; readonly image: string }
  | { readonly kind: 'resolve'; readonly instanceId: string }
  | { readonly kind: 'create'; readonly instanceId: string; readonly name: string }
  | { readonly kind: 'start'; readonly instanceId: string; readonly containerId: string }
  /** The engine no longer restarts it. */
  | { readonly kind: 'takeOver'; readonly instanceId: string; readonly containerId: string }
  | { readonly kind: 'stop'; readonly instanceId: string; readonly containerId: string }
  /** Ends a job's container, and keeps it. */
  | { readonly kind: 'end'; readonly instanceId: string; readonly containerId: string }
  /** Stops and starts it in one order to the engine: whoever is killed meanwhile, it does not stay down. */
  | { readonly kind: 'restart'; readonly instanceId: string; readonly containerId: string }
  | { readonly kind: 'remove'; readonly instanceId: string; readonly containerId: string }
  | { readonly kind: 'healthcheckNow'; readonly instanceId: string; readonly containerId: string }
  | { readonly kind: 'ask'; readonly instanceIds: readonly string[] };

export type StepKind = Step['kind'];
export type StepOf<K extends StepKind> = Extract<Step, { readonly kind: K }>;
export type InstanceStep = Exclude<Step, { readonly kind: 'ask' }>;
