import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { Transaction } from '../store/transaction.ts';

/** Called once, however the commit ended. */
export type PlanEnd = (stored: boolean) => void;

/**
 * Adds the first plan of a new deployment to the commit that stores it. Undefined: nothing was added, and a controller plans it when it
 * is stored.
 */
export type FirstPlan = (record: DeploymentRecord, transaction: Transaction) => PlanEnd | undefined;
