/** Event name and payload → what the job is for, and how far it is trusted; asks nobody. */

/** Cache namespace: `base` for trusted branches, `pr` for everything else. */
export type Lane = 'base' | 'pr'
