/** Levels of the logs of agents and of what is read of a control plane's, from the most talkative on. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
