/** The times that Berth has by default; those of the other tests are shorter. */
export const USUAL_SPANS = {
  BERTH_TIMERS_HEARTBEAT: '5s',
  BERTH_TIMERS_FAILED_AFTER: '15s',
  BERTH_TIMERS_REPLACE_AFTER: '60s',
  BERTH_TIMERS_START_GRACE: '30s',
  BERTH_TIMERS_SETTLE: '10s',
};
